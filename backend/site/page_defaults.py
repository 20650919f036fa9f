"""Defaults of pages where an address states nothing: today's market, in months, in one's own money.

The API's defaults never change, so addresses of pages state all of these (state.STATED): a list then
shows the same figures whoever opens it, and so do its exports.
"""

import re

from django.http import HttpRequest, HttpResponse
from django.utils.translation.trans_real import parse_accept_lang_header

from backend.accounts.services.acting import workspace_slug
from backend.catalog.selectors.data_version import DataStamp
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.ranking import currencies_with_rate
from backend.site import state

CURRENCY_COOKIE = "currency"
COOKIE_AGE_S = 365 * 86_400
OTHERWISE = "USD"
_EURO_LANGUAGES = "bg ca de el es et eu fi fr ga gl hr it lb lt lv mt nl pt sk sl"
_EURO_COUNTRIES = "AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK"
_OTHER_LANGUAGES = (
    "cs:CZK da:DKK he:ILS hi:INR hu:HUF id:IDR is:ISK ja:JPY ko:KRW ms:MYR nb:NOK nn:NOK no:NOK pl:PLN "
    "ro:RON sv:SEK th:THB tr:TRY zh:CNY"
)
_OTHER_COUNTRIES = (
    "AU:AUD BR:BRL CA:CAD CH:CHF CN:CNY CZ:CZK DK:DKK GB:GBP HK:HKD HU:HUF ID:IDR IL:ILS IN:INR IS:ISK "
    "JP:JPY KR:KRW LI:CHF MX:MXN MY:MYR NO:NOK NZ:NZD PH:PHP PL:PLN RO:RON SE:SEK SG:SGD TH:THB TR:TRY "
    "US:USD ZA:ZAR"
)


def _pairs(euro: str, others: str) -> dict[str, str]:
    split = (part.partition(":") for part in others.split())
    return {**dict.fromkeys(euro.split(), "EUR"), **{key: code for key, _, code in split}}


OF_LANGUAGE = _pairs(_EURO_LANGUAGES, _OTHER_LANGUAGES)
# The currencies that the European Central Bank states rates of.
OF_COUNTRY = _pairs(_EURO_COUNTRIES, _OTHER_COUNTRIES)


def page_defaults(request: HttpRequest, stamp: DataStamp) -> state.Params:
    """Values of state.STATED for who reads."""
    return {
        "metric": [default_metric(stamp, workspace_slug(request))],
        "period": ["month"],
        "currency": [default_currency(request, stamp)],
        "available": ["TRUE"],
    }


def default_currency(request: HttpRequest, stamp: DataStamp) -> str:
    """The currency chosen last, else that of the first language asked for, else the dollar."""
    last = request.COOKIES.get(CURRENCY_COOKIE, "")
    code = last if re.fullmatch("[A-Z]{3}", last) else language_currency(request)
    # A currency without a rate here would leave every price empty.
    return code if code in currencies_with_rate(stamp, code) else OTHERWISE


def language_currency(request: HttpRequest) -> str:
    """The currency of the first language that the browser asks for, by its country if it says one."""
    languages = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    first = next((code for code, _ in languages if code != "*"), "")
    language, _, rest = first.partition("-")
    country = rest.rpartition("-")[2].upper()
    # Two letters are a country; es-419 names a part of the world, so there its language decides.
    known, code = (OF_COUNTRY, country) if len(country) == 2 else (OF_LANGUAGE, language)
    return known.get(code, OTHERWISE)


def currency_remembered(request: HttpRequest, response: HttpResponse, currency: str) -> None:
    """Keeps the currency that the address states for the next visit."""
    # Only one that was asked for: a guess must not become a choice.
    if request.GET.get("currency") and request.COOKIES.get(CURRENCY_COOKIE) != currency:
        response.set_cookie(
            CURRENCY_COOKIE, currency, max_age=COOKIE_AGE_S, httponly=True, samesite="Lax"
        )
