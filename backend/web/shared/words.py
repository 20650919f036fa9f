"""The words that pages use for codes; a code without a word is shown as it is."""

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from backend.domain.metrics import METRICS
from backend.domain.profiles import PARAMETERS as PARAMETERS_OF_RUNS
from backend.providers import registry
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.parameters import PARAMETER
from backend.web.shared import figures

REGION_GROUPS = {
    "africa": "Africa",
    "antarctica": "Antarctica",
    "asia": "Asia",
    "europe": "Europe",
    "north-america": "North America",
    "oceania": "Oceania",
    "south-america": "South America",
}
KINDS = {"cloud": "cloud", "vps": "VPS", "dedicated": "dedicated", "onprem": "own rack"}
TERMS = {
    "on_demand": "On demand",
    "spot": "Spot",
    "reserved_1y": "Reserved, 1 year",
    "reserved_3y": "Reserved, 3 years",
    "committed_1y": "Committed, 1 year",
    "committed_3y": "Committed, 3 years",
    "savings_1y": "Savings plan, 1 year",
    "savings_3y": "Savings plan, 3 years",
    "monthly": "Monthly",
    "purchase": "Purchase",
}
FLAGS = {
    "disturbed": ("disturbed", "bad", "Something else ran on the machine; not ranked."),
    "unstable": ("unstable", "warn", "The repeats spread more than the metric's target."),
    "mixed_hardware": ("mixed CPUs", "warn", "The machines have different models of CPU."),
    "cached": ("cached", "bad", "Memory may have stood in for the disk or network; not ranked."),
    "lower_bound": ("at least", "warn", "A bound: the true figure is larger; not ranked."),
    "aborted": ("aborted", "bad", "The job was stopped after this time; not ranked."),
    "shared_vcpu": ("shared vCPU", "", "The CPU is shared with other customers."),
    "burstable": ("burstable", "", "Full speed only while CPU credits last."),
    "credit_standard": (
        "standard credits",
        "",
        "Without CPU credits it is slowed to its share; nothing is charged beyond the price.",
    ),
    "credit_unlimited": (
        "unlimited credits",
        "warn",
        "It runs on without CPU credits, and the provider charges for that beside the price.",
    ),
    "discontinued": ("history", "", "It can no longer be bought."),
    "derived": ("derived", "", "Published for the processor, not for this machine."),
    "stale_price": ("old price", "warn", "The price was observed more than 30 days ago."),
    "stale_fx": ("old rate", "warn", "The exchange rate is more than 30 days old."),
    "interruptible": (
        "may be taken back",
        "warn",
        "Spot: the provider may take the machine back; the cheapest zone of the region counts.",
    ),
    "tax_unknown": (
        "tax unknown",
        "warn",
        "Whether the price includes tax, or at which rate, is not known; not ranked beside net ones.",
    ),
    "volume_small": (
        "small volume",
        "",
        "The disk that was rented with it is small; larger ones of its type are faster.",
    ),
    "small_pages": (
        "small pages",
        "",
        "The system gave few huge pages or none: latency reads higher than with them.",
    ),
    "not_steady": (
        "not steady",
        "warn",
        "The disk was still slowing down or speeding up when the time was over.",
    ),
    "outlier": ("outlier", "warn", "Far from the other repeats of its run; it still counts."),
    "cpu_bound": ("CPU bound", "warn", "The tool used up one CPU; the link may carry more."),
    "imported": ("imported", "", "The result was measured elsewhere and imported."),
    "conditions_unknown": (
        "conditions unknown",
        "bad",
        "How it was made is not known; not ranked.",
    ),
    "zeros": ("zeros", "bad", "Only zeros were copied, which many disks never store; not ranked."),
}
RUN_PARAMETERS = {
    "directory": "Directory of the disk tests",
    "directories": "Directories measured at the same time",
    "device": "Device read at its start and end",
    "matrix_depths": "Queue depths of the fio matrix",
    "matrix_jobs": "Jobs of the fio matrix",
    "peer": "Other end of the network tests",
    "peer_address": "Address of the other end",
    "install_tools": "Missing tools are installed",
    "credit_mode": "Without CPU credits",
    "careful": "The host is in production",
}
INTERVALS = {
    "instances_order": "over machines",
    "instances_t": "over machines",
    "repeats_widened": "repeats, widened",
    "published_sd": "published spread, of one machine",
    "stated_spread": "stated spread between machines",
    "combined": "of several metrics",
}
MISSING = {
    "price": "no price under these terms",
    "score": "not measured",
    "disk_price": "price of a disk not known",
    "ipv4_price": "price of an address not known",
    "egress_price": "price of traffic not known",
}
EXTRAS = {"disk": "a disk", "ip": "an address", "egress": "traffic"}
REASONS = {
    "quota": "The provider's quota does not allow another machine.",
    "capacity": "The provider had no machine of this type left.",
    "auth": "The login was refused.",
    "unsupported": "The host lacks something a probe needs.",
    "timeout": "It took longer than allowed.",
    "interrupted": "The provider took the machine back.",
    "unreachable": "The host could not be reached.",
    "disk_full": "There was not enough free space on the host.",
    "rebooted": "The host restarted in the middle of the run.",
    "bug": "Rackrate met something it did not expect.",
}


def provider(slug: str) -> str:
    return registry.provider(slug).short_name


def kind(code: str) -> str:
    return KINDS.get(code, code)


def term(code: str) -> str:
    return TERMS.get(code, code.replace("_", " ").capitalize())


def run_parameter(name: str) -> str:
    return (
        PARAMETERS_OF_RUNS[name].label
        if name in PARAMETERS_OF_RUNS
        else RUN_PARAMETERS.get(name, name.replace("_", " "))
    )


def run_value(name: str, value: object) -> str:
    """A parameter's value with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    known = PARAMETERS_OF_RUNS.get(name)
    if known is None or not isinstance(value, int | float):
        return str(value)
    if known.unit == "bytes":
        return f"{figures.quantity(value / 2**20)} MiB"
    if known.unit == "bits/s":
        return f"{figures.quantity(value / 1e6)} Mbit/s"
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
    return f"{figures.plain(share)} %" if share.is_finite() else text


def holds(basis: str) -> str:
    """What a price holds, from its cell: `machine+disk+tax` → the machine, disk and tax."""
    said = {
        "machine": "the machine alone",
        "sustained_use": "the machine, discounted for whole months",
        "setup": "the set-up fee, spread",
        "ip": "public IPv4",
        "egress": "traffic out",
    }
    first, *others = basis.split("+")
    named = [said.get(first, first) if not others else said.get(first, first).replace(" alone", "")]
    return ", ".join([*named, *(said.get(part, part) for part in others)])


def basis_part(part: str, amount: str) -> str:
    """One thing that a price holds beside the machine, with the amount that was asked for."""
    said = {
        "sustained_use": "discount for whole months",
        "disk": f"disk {amount} GB",
        "ip": f"{amount} public IPv4",
        "egress": f"traffic out {amount} GB/month",
    }
    return said.get(part, part)
