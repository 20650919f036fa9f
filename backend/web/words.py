"""The words that pages use for codes; a code without a word is shown as it is."""

from backend.domain.profiles import PARAMETERS as PARAMETERS_OF_RUNS
from backend.web import figures

PROVIDERS = {
    "aws": "AWS",
    "gcp": "Google Cloud",
    "azure": "Azure",
    "hetzner": "Hetzner",
    "ovh": "OVH",
    "digitalocean": "DigitalOcean",
    "linode": "Linode",
    "rackspace": "Rackspace",
    "upcloud": "UpCloud",
    "vultr": "Vultr",
    "own": "Own",
}
KINDS = {"cloud": "cloud", "vps": "VPS", "dedicated": "dedicated", "onprem": "own rack"}
PERIODS = {"hour": "hour", "month": "month", "year": "year", "once": "once"}
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
    "cached": ("cached", "bad", "Memory may have stood in for the disk; not ranked."),
    "shared_vcpu": ("shared vCPU", "", "The CPU is shared with other customers."),
    "burstable": ("burstable", "", "Full speed only while CPU credits last."),
    "stale_price": ("old price", "warn", "The price was observed more than 30 days ago."),
    "outlier": ("outlier", "warn", "Far from the other repeats of its run; it still counts."),
    "cpu_bound": ("CPU bound", "warn", "The tool used up one CPU; the link may carry more."),
    "imported": ("imported", "", "The result was measured elsewhere and imported."),
    "conditions_unknown": ("conditions unknown", "warn", "How it was measured is not known."),
}
CELLS = {
    "waiting": "waiting",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "not_available": "not available",
    "disturbed": "disturbed",
    "cancelled": "cancelled",
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
}
INTERVALS = {
    "instances_bootstrap": "over machines",
    "instances_t": "over machines",
    "repeats_widened": "repeats, widened",
    "published_sd": "published spread",
    "none": "",
}
MISSING = {"price": "no price under these terms", "score": "not measured"}
VCPU_KINDS = {"shared": "shared", "burstable": "burstable", "dedicated": "dedicated"}
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
PARAMETERS = {
    "q": "Search",
    "provider": "Provider",
    "kind": "Kind",
    "arch": "Architecture",
    "region": "Region",
    "vcpu_kind": "vCPU kind",
    "measured": "Measured",
    "ram_gib": "RAM (GiB)",
    "vcpu": "vCPU",
    "price": "Price",
    "score": "Score",
    "value_per_cost": "Value per cost",
    "as_of": "As of",
    "basis": "Price basis",
}


def provider(slug: str) -> str:
    """Name of a provider by its slug."""
    return PROVIDERS.get(slug, slug.replace("-", " ").capitalize())


def kind(code: str) -> str:
    """Words of an offer's kind."""
    return KINDS.get(code, code)


def term(code: str) -> str:
    """Words of a price term."""
    return TERMS.get(code, code.replace("_", " ").capitalize())


def run_parameter(name: str) -> str:
    """Words of a parameter of a run."""
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


OPERATORS = (("__gte", "≥ "), ("__lte", "≤ "), ("!", "≠ "))


def parameter(name: str) -> tuple[str, str, str]:
    """Column or parameter that a name of the URL is about, its words, and the sign it bears."""
    for suffix, sign in OPERATORS:
        if name.endswith(suffix):
            column = name.removesuffix(suffix)
            return column, PARAMETERS.get(column, column.replace("_", " ")), sign
    return name, PARAMETERS.get(name, name.replace("_", " ")), ""
