"""A list's addresses and the formulas that read it, as pages print them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from backend.core.rest.public_address import is_local, public_address
from backend.rankings.models import SavedView
from backend.rankings.pages.data.formulas import LONGEST_ADDRESS, Formula, FormulaSource, formulas
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.views import OpenedView, shorten_params
from backend.site import state

FORMATS = ("csv", "tsv", "xlsx", "json")


@dataclass(frozen=True)
class Printed:
    """A list as the data page prints it."""

    # Format to address.
    urls: Mapping[str, str]
    formulas: Sequence[Formula]
    needs_token: bool

    @property
    def csv_url(self) -> str:
        """The address that the formulas hold."""
        return self.urls["csv"]

    @property
    def is_local(self) -> bool:
        """True if only programs on this machine reach it."""
        return is_local(self.csv_url)

    @property
    def is_long(self) -> bool:
        """True if some program would cut the address."""
        return len(self.csv_url) > LONGEST_ADDRESS


def api_list(request: HttpRequest, asked_view: OpenedView, query: RankingQuery) -> Printed:
    """The list over the API: by the slug of a shared view, else by all its parameters.

    A private view has no meaning for a token, which is another reader than its owner.
    """
    params = asked_view.params
    if asked_view.view and not asked_view.view.is_private:
        # The slug alone follows later changes of the view; parameters would be those of today.
        params = shorten_params(asked_view.params, asked_view.kept, asked_view.view.slug)
    asked = state.encode(params)
    urls = {
        kind: public_address(request, reverse("api:rankings-as", kwargs={"format": kind}) + asked)
        for kind in FORMATS
    }
    value = public_address(request, reverse("api:value") + asked)
    source = FormulaSource(
        csv_url=urls["csv"],
        columns=[COLUMN[name] for name in query.cols],
        value_url=value + ("&" if asked else "?"),
        # Where everybody may read, a formula without a secret is the better one to hand around.
        needs_token=not settings.PUBLIC_READ,
    )
    return Printed(urls, formulas(source), source.needs_token)


def feed_list(request: HttpRequest, view: SavedView, key: str, query: RankingQuery) -> Printed:
    """The list as the feed that the key opens."""
    # A feed has no address of a single value: its key opens the rows of one view and nothing else.
    urls = {kind: public_address(request, _feed_path(key, view.slug, kind)) for kind in FORMATS}
    source = FormulaSource(csv_url=urls["csv"], columns=[COLUMN[name] for name in query.cols])
    return Printed(urls, formulas(source), needs_token=False)


def _feed_path(key: str, slug: str, kind: str) -> str:
    return reverse("feed", kwargs={"key": key, "slug": slug, "format": kind})
