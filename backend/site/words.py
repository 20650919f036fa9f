"""The words that pages use for codes; a code without a word is shown as it is."""

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from backend.benchmarks.models import Run
from backend.measure.metrics import METRICS
from backend.measure.profiles import PARAMETERS as PARAMETERS_OF_RUNS
from backend.providers import registry
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.parameters import PARAMETER
from backend.site import figures
from backend.site.language import _, lazy

# Of a rate that somebody stated, such as a tax of 8.375%.
RATE_DECIMALS = 4
REGION_GROUPS = {
    "africa": lazy("Africa"),
    "antarctica": lazy("Antarctica"),
    "asia": lazy("Asia"),
    "europe": lazy("Europe"),
    "north-america": lazy("North America"),
    "oceania": lazy("Oceania"),
    "south-america": lazy("South America"),
}
KINDS = {
    "cloud": lazy("cloud"),
    "vps": "VPS",
    "dedicated": lazy("dedicated"),
    "onprem": lazy("own rack"),
}
TERMS = {
    "on_demand": lazy("On demand"),
    "spot": lazy("Spot"),
    "reserved_1y": lazy("Reserved, 1 year"),
    "reserved_3y": lazy("Reserved, 3 years"),
    "committed_1y": lazy("Committed, 1 year"),
    "committed_3y": lazy("Committed, 3 years"),
    "savings_1y": lazy("Savings plan, 1 year"),
    "savings_3y": lazy("Savings plan, 3 years"),
    "monthly": lazy("Monthly"),
    "purchase": lazy("Purchase"),
}
FLAGS = {
    "disturbed": (lazy("disturbed"), "bad", lazy("Something else ran on the machine; not ranked.")),
    "unstable": (
        lazy("unstable"),
        "warn",
        lazy("The repeats spread more than the metric's target."),
    ),
    "unknown_hardware": (
        lazy("CPU not known"),
        "warn",
        lazy("Several machines stand behind it, and not all state their model of CPU."),
    ),
    "mixed_hardware": (
        lazy("mixed CPUs"),
        "warn",
        lazy("The machines have different models of CPU."),
    ),
    "cached": (
        lazy("cached"),
        "bad",
        lazy("Memory may have stood in for the disk or network; not ranked."),
    ),
    "lower_bound": (
        lazy("at least"),
        "warn",
        lazy("A bound: the true figure is larger; not ranked."),
    ),
    "aborted": (lazy("aborted"), "bad", lazy("The job was stopped after this time; not ranked.")),
    "saturated": (
        lazy("server at its limit"),
        "bad",
        lazy("The tested program stopped growing before the machine did; not ranked."),
    ),
    "unlike_peers": (
        lazy("unlike its peers"),
        "warn",
        lazy("More than 1.5 times off other types on the same CPU; its interval is wide."),
    ),
    "shared_vcpu": (lazy("shared vCPU"), "", lazy("The CPU is shared with other customers.")),
    "burstable": (lazy("burstable"), "", lazy("Full speed only while CPU credits last.")),
    "credit_standard": (
        lazy("standard credits"),
        "",
        lazy("Without CPU credits it is slowed to its share; nothing is charged beyond the price."),
    ),
    "credit_unlimited": (
        lazy("unlimited credits"),
        "warn",
        lazy("It runs on without CPU credits, and the provider charges extra for that."),
    ),
    "discontinued": (lazy("history"), "", lazy("It can no longer be bought.")),
    "not_orderable": (
        lazy("no orders"),
        "warn",
        lazy(
            "Its provider took no orders for it in the last two weeks; stock changes from day to day."
        ),
    ),
    "derived": (
        lazy("derived"),
        "",
        lazy("Published for the processor or for another server with it, not for this machine."),
    ),
    "stale_price": (
        lazy("old price"),
        "warn",
        lazy("The price has not been checked for more than 30 days."),
    ),
    "lacks_month_price": (
        lazy("no month price"),
        "warn",
        lazy("Sold by the month for less, at a price that is not known here: ask the seller."),
    ),
    "price_waiting": (
        lazy("newer price waits"),
        "warn",
        lazy("Its list states another price now, which waits for a review. This is the old one."),
    ),
    "stale_fx": (lazy("old rate"), "warn", lazy("The exchange rate is more than 30 days old.")),
    "interruptible": (
        lazy("may be taken back"),
        "warn",
        lazy(
            "Spot: the provider may take the machine back; the cheapest zone of the region counts."
        ),
    ),
    "tax_unknown": (
        lazy("tax unknown"),
        "warn",
        lazy(
            "It is not known whether the price includes tax, or at which rate; not ranked "
            "with net prices."
        ),
    ),
    "volume_small": (
        lazy("small volume"),
        "",
        lazy("The disk that was rented with it is small; larger ones of its type are faster."),
    ),
    "emulated": (
        lazy("emulated"),
        "bad",
        lazy("A program imitates the processor, and its speed was measured; not ranked."),
    ),
    "other_method": (
        lazy("other tool versions"),
        "",
        lazy(
            "Measured with the versions named as its method; published figures used "
            "OpenSSL 3.3 or 3.4 and Redis 7.4 with another client. The interval allows 15% "
            "for it, an assumption."
        ),
    ),
    "unlike_offer": (
        lazy("another machine"),
        "bad",
        lazy("The machine is not what the offer states, as its run says; not ranked."),
    ),
    "small_file": (
        lazy("small file"),
        "",
        lazy("Too little free space for a larger test file: caches in the drive count for more."),
    ),
    "small_pages": (
        lazy("small pages"),
        "",
        lazy("The system gave few huge pages or none: latency reads higher than with them."),
    ),
    "not_steady": (
        lazy("not steady"),
        "warn",
        lazy("The disk was still slowing down or speeding up when the time was over."),
    ),
    "outlier": (
        lazy("outlier"),
        "warn",
        lazy("Far from the other repeats of its run; it still counts."),
    ),
    "cpu_bound": (
        lazy("CPU bound"),
        "warn",
        lazy("The tool used up one CPU; the link may carry more."),
    ),
    "imported": (lazy("imported"), "", lazy("The result was measured elsewhere and imported.")),
    "conditions_unknown": (
        lazy("conditions unknown"),
        "bad",
        lazy("How it was made is not known; not ranked."),
    ),
    "zeros": (
        lazy("zeros"),
        "bad",
        lazy("Only zeros were copied, which many disks never store; not ranked."),
    ),
}
RUN_PARAMETERS = {
    "directory": lazy("Directory of the disk tests"),
    "directories": lazy("Directories measured at the same time"),
    "device": lazy("Device read at its start and end"),
    "matrix_depths": lazy("Queue depths of the fio matrix"),
    "matrix_jobs": lazy("Jobs of the fio matrix"),
    "peer": lazy("Network test partner"),
    "peer_address": lazy("Address of the network test partner"),
    "install_tools": lazy("Missing tools are installed"),
    "credit_mode": lazy("Without CPU credits"),
    "careful": lazy("The host is in production"),
}
INTERVALS = {
    "instances_order": lazy("over machines"),
    "instances_t": lazy("over machines"),
    "repeats_widened": lazy("repeats, widened"),
    "published_sd": lazy("published spread, of one machine"),
    "stated_spread": lazy("stated spread between machines"),
    "combined": lazy("of several metrics"),
}
MISSING = {
    "price": lazy("no price under these terms"),
    "score": lazy("not measured"),
    "disk_price": lazy("price of a disk not known"),
    "ipv4_price": lazy("price of an address not known"),
    "egress_price": lazy("price of traffic not known"),
}
EXTRAS = {"disk": lazy("a disk"), "ip": lazy("an address"), "egress": lazy("traffic")}
SOURCES = {
    "measured": lazy("measured"),
    "published": lazy("published"),
    "imported": lazy("imported"),
}
PRICE_STATES = {
    "current": lazy("current"),
    "stale": lazy("stale"),
    "announced": lazy("announced"),
    "quarantined": lazy("quarantined"),
    "refused": lazy("refused"),
    "superseded": lazy("superseded"),
    "all": lazy("all"),
}
CAMPAIGN_STATES = {
    "draft": lazy("draft"),
    "running": lazy("running"),
    "done": lazy("done"),
    "cancelled": lazy("cancelled"),
}
REASONS = {
    "quota": lazy("A budget or the provider's quota does not allow another machine."),
    "capacity": lazy("The provider had no machine of this type left."),
    "auth": lazy("The login was refused."),
    "unsupported": lazy("The host lacks something a probe needs."),
    "timeout": lazy("It took longer than allowed."),
    "interrupted": lazy("The provider took the machine back."),
    "unreachable": lazy("The host could not be reached."),
    "disk_full": lazy("There was not enough free space on the host."),
    "rebooted": lazy("The host restarted in the middle of the run."),
    "bug": lazy("Rackrate met something it did not expect."),
}


def provider(slug: str) -> str:
    return registry.provider(slug).short_name


def kind(code: str) -> str:
    return KINDS.get(code, code)


def term(code: str) -> str:
    return TERMS.get(code, code.replace("_", " ").capitalize())


def source(code: str) -> str:
    return SOURCES.get(code, code)


def price_state(code: str) -> str:
    return PRICE_STATES.get(code, code)


def campaign_state(code: str) -> str:
    return CAMPAIGN_STATES.get(code, code)


def run_name(run: Run) -> str:
    """Day, minute and the first characters of the identifier, as the commands take them: a campaign
    begins many runs in one minute."""
    return f"{run.created_at:%Y-%m-%d %H:%M} · {str(run.pk)[:6]}"


def run_parameter(name: str) -> str:
    return (
        PARAMETERS_OF_RUNS[name].label
        if name in PARAMETERS_OF_RUNS
        else RUN_PARAMETERS.get(name, name.replace("_", " "))
    )


def run_value(name: str, value: object) -> str:
    """A parameter's value with its unit."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    known = PARAMETERS_OF_RUNS.get(name)
    if known is None or not isinstance(value, int | float):
        return str(value)
    if known.unit == "bytes":
        return _("{size} MiB", size=figures.quantity(value / 2**20))
    if known.unit == "bits/s":
        return _("{rate} Mbit/s", rate=figures.quantity(value / 1000000.0))
    return f"{figures.quantity(value)} {known.unit}".strip()


OPERATORS = (("__gte", "≥ "), ("__lte", "≤ "), ("__gt", "> "), ("__lt", "< "), ("!", "≠ "))


def parameter(name: str) -> tuple[str, str, str]:
    """Column or parameter that a name of the URL is about, its words, and the sign it bears."""
    suffix, sign = next((pair for pair in OPERATORS if name.endswith(pair[0])), ("", ""))
    subject = name.removesuffix(suffix)
    label = subject.replace("_", " ")
    if subject in COLUMN:
        label = COLUMN[subject].filter_label
    elif subject in PARAMETER:
        label = PARAMETER[subject].label or label
    return subject, label, sign


def flag(code: str) -> tuple[str, str, str]:
    """Words of a flag, its tone, and what it means."""
    return FLAGS.get(code, (code.replace("_", " "), "", ""))


def category(column: str, code: str) -> str:
    """Words of a value of a column that holds words."""
    return OF_VALUES[column](code) if column in OF_VALUES else code


def metric(key: str) -> str:
    """Words of a metric; its key where it is none of ours."""
    return METRICS[key].label if key in METRICS else key


# How the values of the columns read that hold codes.
OF_VALUES: Mapping[str, Callable[[str], str]] = {
    "provider": provider,
    "kind": kind,
    "price_term": term,
    "region_group": lambda code: REGION_GROUPS.get(code, code),
    "metric": metric,
    "interval_basis": lambda code: INTERVALS.get(code, code),
    "flags": lambda code: flag(code)[0],
    "missing": lambda code: MISSING.get(code, code),
}


def ratio(text: str) -> str:
    """A ratio as it stands in a URL, in percent; text that is no number stays as it is."""
    try:
        share = Decimal(text) * 100
    except InvalidOperation:
        return text
    return figures.percent(float(text), RATE_DECIMALS) if share.is_finite() else text


def holds(basis: str) -> str:
    """Parts of a price, from its cell: `machine+disk+tax` → the machine, disk and tax."""
    said = {
        "machine": _("the machine alone"),
        "sustained_use": _("the machine, discounted for whole months"),
        "contract": _("after the discounts of the contract"),
        "setup": _("the set-up fee, spread"),
        "ip": _("public IPv4"),
        "egress": _("traffic out"),
    }
    first, *others = basis.split("+")
    named = [said.get(first, first) if not others else said.get(first, first).replace(" alone", "")]
    return ", ".join([*named, *(said.get(part, part) for part in others)])


def basis_part(part: str, amount: str) -> str:
    """A thing that a price holds beside the machine, with the amount that was asked for."""
    said = {
        "list": _("machine at list price"),
        "contract": _("discounts of the contract"),
        "credits": _("running on without CPU credits"),
        "disk": _("disk {amount} GB", amount=amount),
        "ip": _("{amount} public IPv4", amount=amount),
        "egress": _("traffic out {amount} GB/month", amount=amount),
    }
    return said.get(part, part)
