"""Headers that people write above the columns of a table, in English, German, French and Spanish."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from backend.catalog.calc.tables.table_files import HEAD_LINES, Line
from backend.catalog.calc.tables.table_remarks import RefusedTable, Remark, shown
from backend.money.money import CURRENCIES

# What a mapping names for a column that is not read.
LEFT_OUT = "-"
UNKNOWN = "unknown column"
SIGNS: Mapping[str, str] = {"€": "EUR", "£": "GBP", "zł": "PLN", "kč": "CZK", "us$": "USD"}
# What may stand in brackets behind a header: any other unit would make another figure of it.
UNITS: Mapping[str, frozenset[str]] = {
    "ram_gib": frozenset({"gib", "gb", "go"}),
    "disk_gb": frozenset({"gb", "go"}),
    "nic_gbit": frozenset({"gbit", "gbit s", "gbps", "gb s", "gbit/s"}),
    "traffic_tb": frozenset({"tb", "to"}),
    "min_term_months": frozenset({"months", "monate", "mois", "meses"}),
}
_SYNONYMS: Mapping[str, str] = {
    "provider": "provider|hoster|vendor|supplier|anbieter|lieferant|fournisseur|hébergeur|proveedor",
    "location": "location|site|datacenter|data center|standort|rechenzentrum|emplacement|ubicación"
    "|centro de datos",
    "region": "location|standort|emplacement|région|ubicación|región",
    "model": "model|server|product|modell|produkt|modèle|serveur|produit|modelo|servidor|producto",
    "offer": "offer id|machine|type|server|angebot|maschine|offre|serveur|oferta|servidor",
    "cpu": "processor|prozessor|processeur|procesador",
    "cores": "kerne|cœurs|coeurs|núcleos",
    "ram_gib": "ram|memory|speicher|arbeitsspeicher|mémoire|memoria",
    "disks": "disk|storage|drives|festplatten|platten|disques|stockage|discos|almacenamiento",
    "nic_gbit": "port|network|bandwidth|netzwerk|bandbreite|réseau|red|ancho de banda",
    "currency": "währung|devise|monnaie|moneda|divisa",
    "monthly_net": "monthly price|price per month|price month|monthly|monthly net|net monthly price"
    "|monthly price net|monthly price excl vat|monatspreis|monatspreis netto|preis pro monat"
    "|preis monat|monatlich netto|netto monatlich|nettopreis monat|nettopreis pro monat"
    "|prix mensuel|prix mensuel ht|prix par mois|prix par mois ht|mensuel ht|prix ht"
    "|precio mensual|precio mensual sin iva|precio al mes|precio mensual neto|precio por mes",
    "monthly_gross": "monthly gross|gross monthly price|monthly price gross|monthly price incl vat"
    "|monatspreis brutto|monatlich brutto|bruttopreis monat|prix mensuel ttc|prix par mois ttc"
    "|mensuel ttc|prix ttc|precio mensual con iva|precio mensual bruto",
    "setup_net": "setup|set up fee|setup fee|setup net|setup fee net|one time fee|einrichtung"
    "|einrichtungsgebühr|einrichtung netto|einrichtungsgebühr netto|einmalig|frais de mise en service"
    "|frais d installation|frais d installation ht|mise en service|coste de instalación"
    "|cuota de alta|alta",
    "setup_gross": "setup gross|setup fee gross|einrichtung brutto|einrichtungsgebühr brutto"
    "|frais d installation ttc|coste de instalación con iva",
    "setup": "setup fee|set up fee|einrichtung|einrichtungsgebühr|frais d installation|alta",
    "min_term_months": "minimum term|min term|contract term|contract months|minimum months|term months"
    "|laufzeit|mindestlaufzeit|vertragslaufzeit|durée|engagement|durée d engagement|plazo|permanencia",
    "traffic_tb": "traffic|included traffic|trafic|trafic inclus|tráfico|tráfico incluido"
    "|inklusivtraffic",
    "quoted_on": "quoted|date|quote date|date of quote|offer date|datum|angebotsdatum|angebot vom"
    "|date du devis|date de l offre|fecha|fecha de la oferta|fecha de presupuesto",
    "observed_on": "date|datum|fecha|effective from",
    "valid_until": "valid|valid to|expires|valid through|gültig bis|valable jusqu au|valide jusqu au"
    "|valable jusqu|válido hasta|validez",
    "note": "notes|comment|comments|remark|remarks|bemerkung|bemerkungen|notiz|kommentar|remarque"
    "|remarques|commentaire|nota|notas|comentario|observaciones",
    "tax_rate": "tax|vat|vat rate|mwst|ust|mwst satz|steuersatz|tva|taux de tva|iva|tipo de iva",
    "amount": "price|preis|prix|precio|betrag|montant|importe",
    "unit": "period|per|einheit|unité|unidad|zeitraum",
    "locale": "language|sprache|langue|idioma",
}
_BRACKETS = re.compile(r"[(\[]([^)\]]*)[)\]]")
_WORDS = re.compile(r"[^\w$€£]+")
TOTALS = frozenset((
    "total", "totals", "sum", "subtotal", "grand total", "summe", "gesamt", "gesamtsumme", "zwischensumme",
    "somme", "total general", "total ht", "total ttc", "sous total", "suma", "total neto",
))  # fmt: skip


def plain(text: str) -> str:
    """Words without case, accents and marks."""
    text = unicodedata.normalize("NFKD", text.casefold())
    text = "".join(char for char in text if not unicodedata.combining(char))
    return _WORDS.sub(" ", text.replace("_", " ")).strip()


def _header_words() -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for column, texts in _SYNONYMS.items():
        for text in texts.split("|"):
            columns.setdefault(plain(text), []).append(column)
    return columns


_COLUMNS = _header_words()


@dataclass
class Header:
    """Which column of the table each cell of a line is; None for one that is left out."""

    columns: list[str | None]
    currencies: dict[str, str] = field(default_factory=dict)
    """By column, where the header itself names one."""
    unclear: list[str] = field(default_factory=list)
    """Headers of amounts that do not say whether they are net."""


def column_of(
    name: str, known: Collection[str], mapping: Mapping[str, str]
) -> tuple[str | None, str]:
    """(Column, currency) that a header means; (None, "") for an unknown one."""
    if plain(name) in mapping:
        return mapping[plain(name)], ""
    if name.strip().lower() in known:
        return name.strip().lower(), ""
    inner = plain(" ".join(_BRACKETS.findall(name)))
    outer = plain(_BRACKETS.sub(" ", name))
    currency = _currency(inner)
    # Many write it without brackets, as the last word.
    if not inner:
        words = outer.split()
        if len(words) > 1 and (currency := _currency(words[-1])):
            outer = " ".join(words[:-1])
    for candidate in (*_COLUMNS.get(outer, ()), outer.replace(" ", "_")):
        is_clear = not inner or currency or inner in UNITS.get(candidate, ())
        if candidate in known and is_clear:
            return candidate, currency
    return None, ""


def _currency(text: str) -> str:
    code = SIGNS.get(text, text.upper())
    return code if code in CURRENCIES else ""


def score(cells: Sequence[str], known: Collection[str], mapping: Mapping[str, str]) -> int:
    """How many columns a line would name if it were the header."""
    names = {column_of(cell, known, mapping)[0] for cell in cells if cell}
    return len(names - {None})


def header_at(lines: Sequence[Line], known: Collection[str], mapping: Mapping[str, str]) -> int:
    """The position of the header: titles may stand above it."""
    # One known word alone may be part of a title.
    scores = [score(cells, known, mapping) for _, cells in lines[:HEAD_LINES]]
    return scores.index(max(scores)) if max(scores, default=0) > 1 else 0


def header(
    line: Line,
    rows: Sequence[Line],
    known: Collection[str],
    mapping: Mapping[str, str],
) -> Header:
    """The columns of a table. Raises RefusedTable for unknown and repeated ones."""
    number, cells = line
    read = Header([])
    wrong = []
    for index, name in enumerate(cells):
        if not name:
            # A spreadsheet keeps empty columns; one with cells has lost its name.
            if any(index < len(row) and row[index] for _, row in rows):
                column = f"column {letters(index)}"
                wrong.append(Remark(number, column, "it has cells and no header: write one"))
            read.columns.append(None)
            continue
        meant, currency = column_of(name, known, mapping)
        if meant is None or (meant != LEFT_OUT and meant not in known):
            known_names = ", ".join(sorted(known))
            detail = f"{UNKNOWN}; map it to one of {known_names}, or leave it out with -"
            wrong.append(Remark(number, shown(name.lower()), detail))
            continue
        if meant == LEFT_OUT:
            read.columns.append(None)
            continue
        if meant in read.columns:
            wrong.append(Remark(number, meant, "the column occurs twice"))
        read.columns.append(meant)
        if currency:
            read.currencies[meant] = currency
        if meant.endswith("_net") and not _says_net(name):
            read.unclear.append(name)
    if wrong:
        raise RefusedTable(*wrong)
    return read


def _says_net(name: str) -> bool:
    words = f" {plain(name)} "
    return any(
        f" {word} " in words for word in ("net", "netto", "nettopreis", "ht", "neto")
    ) or any(word in words for word in (" excl ", " sin iva ", " hors "))


def is_total(cells: Sequence[str]) -> bool:
    """True if a line sums those above it: no machine is called so."""
    first = next((cell for cell in cells if cell), "")
    return plain(first) in TOTALS


def letters(index: int) -> str:
    """As a spreadsheet names a column: A, …, Z, AA."""
    index += 1
    name = ""
    while index:
        # Letters have no zero: behind Z comes AA.
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
