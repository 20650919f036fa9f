"""The first columns of offers and rankings (columns): what an offer is."""

from backend.catalog.models import OfferKind, VcpuKind
from backend.core.rest.table import ColumnType
from backend.foundation.texts import text as _
from backend.rankings.selectors.ranking_column import RankingColumn

MACHINE_COLUMNS: tuple[RankingColumn, ...] = (
    RankingColumn(
        "offer_id",
        ColumnType.TEXT,
        _("Slug of the offer, used wherever an offer is asked for"),
        label=_("Identifier"),
    ),
    RankingColumn(
        "provider",
        ColumnType.TEXT,
        _("Slug of the provider; own for your own machines"),
        label=_("Provider"),
        is_unbroken=True,
    ),
    RankingColumn(
        "offer",
        ColumnType.TEXT,
        _("The provider's own name of the type"),
        label=_("Offer"),
    ),
    RankingColumn(
        "kind",
        ColumnType.TEXT,
        _("cloud, vps, dedicated or onprem"),
        label=_("Kind"),
        choices=tuple(OfferKind.values),
    ),
    RankingColumn(
        "region",
        ColumnType.TEXT,
        _("The provider's name of the place"),
        label=_("Region"),
        is_unbroken=True,
    ),
    RankingColumn("arch", ColumnType.TEXT, _("Processor architecture"), label=_("Architecture")),
    RankingColumn(
        "vcpu",
        ColumnType.NUMBER,
        _("Virtual CPUs that a guest sees, or CPUs of a machine"),
        label="vCPU",
        is_descending_first=True,
    ),
    RankingColumn(
        "vcpu_kind",
        ColumnType.TEXT,
        _("dedicated, shared or burstable"),
        label=_("vCPU kind"),
        choices=tuple(VcpuKind.values),
    ),
    RankingColumn(
        "threads",
        ColumnType.INTEGER,
        _("Hardware threads of the machine"),
        label=_("Threads"),
        is_descending_first=True,
    ),
    RankingColumn(
        "ram_gib",
        ColumnType.NUMBER,
        _("Memory"),
        "GiB",
        label=_("RAM"),
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn(
        "disk_gb",
        ColumnType.NUMBER,
        _("Disk that the price includes"),
        "GB",
        label=_("Disk"),
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn("disk_kind", ColumnType.TEXT, _("Kind of that disk"), label=_("Disk kind")),
)
