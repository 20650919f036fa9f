"""True if a launch in a region of Google Cloud would be let pass, line by line.

Compute Engine knows no launch that is only tried, so policies of the organisation show at the first
one; everything else is read.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from backend.providers.gcp.documents import FAMILIES, call_error, failures
from backend.providers.gcp.os_login import OsLogin
from backend.providers.machines import Access, Overview, Preflight, unsupported_error

if TYPE_CHECKING:
    from google.cloud import compute_v1

# One call: `ask("Regions", "get", region=…)`.
Ask = Callable[..., Any]
# By name, what the smallest machine of ours takes of it.
QUOTAS = {"CPUS": 2, "IN_USE_ADDRESSES": 1, "INSTANCES": 1, "SSD_TOTAL_GB": 20}
ROLE_ADVICE = "Compare the rights of the identity with docs/policies/gcp-role.yaml."
OS_LOGIN_ADVICE = (
    "gcloud services enable oslogin.googleapis.com; the identity, a service account, needs"
    " roles/compute.osAdminLogin."
)
POLICIES = "compute.requireOsLogin, compute.vmExternalIpAccess and compute.trustedImageProjects"


def preflight_lines(
    ask: Ask, access: Access, region: str, os_login: OsLogin | None
) -> list[Preflight]:
    """The lines of a region; those after one that hinders all others are left out."""
    overview = Overview(region)

    def look(topic: str, work: Callable[[], str], advice: str) -> None:
        def answered() -> str:
            try:
                return work()
            except failures() as error:
                raise call_error(error) from None

        overview.look(topic, answered, advice)

    shown: list[compute_v1.Region] = []
    look("region", lambda: _region(ask, region, shown), ROLE_ADVICE)
    if not shown:
        return overview.lines
    network = access.in_region("network", region) or "default"
    look("network", lambda: _network(ask, network, region), _network_advice(region))
    look("SSH", lambda: _let_in(ask, access, network), _firewall_advice(access, network))
    overview.look_at_address(access)
    if os_login:
        look("login", partial(_os_login, os_login), OS_LOGIN_ADVICE)
    else:
        _look_at_login(overview, ask)
    for arch, family in FAMILIES.items():
        look(f"image {arch}", partial(_image, ask, access, region, family), ROLE_ADVICE)
    _look_at_quotas(overview, shown[0], is_private=access.is_private)
    detail = f"Google tries no launch: {POLICIES} show at the first one"
    overview.unknown("launch", detail, "Rent one e2-small for a quick run.")
    return overview.lines


def _region(ask: Ask, region: str, shown: list[Any]) -> str:
    answer = ask("Regions", "get", region=region)
    shown.append(answer)
    if answer.status != "UP":
        raise unsupported_error(f"its state is {answer.status}")
    return f"{len(answer.zones)} zones"


def _os_login(os_login: OsLogin) -> str:
    name = os_login.known_as() or "a user that the first launch makes"
    return f"OS Login as {name}, with a key of its own for each machine"


def _look_at_login(overview: Overview, ask: Ask) -> None:
    """Keys in the metadata, which an organisation that requires OS Login refuses."""
    metadata = {
        item.key: item.value for item in ask("Projects", "get").common_instance_metadata.items
    }
    if metadata.get("enable-oslogin", "").upper() == "TRUE":
        advice = "Set Login of the account to os_login if the organisation requires it."
        overview.unknown("login", "keys in the metadata, the project's default is OS Login", advice)
    else:
        overview.ready("login", "keys in the machine's metadata")


def _network_advice(region: str) -> str:
    return f"Name a network, or a subnetwork in {region}; of a shared network give its whole path."


def _network(ask: Ask, network: str, region: str) -> str:
    name = network.rpartition("/")[2]
    if "subnetworks/" in network:
        subnetwork = ask("Subnetworks", "get", region=region, subnetwork=name, **_project(network))
        return f"subnetwork {name}, {subnetwork.ip_cidr_range}"
    shown = ask("Networks", "get", network=name, **_project(network))
    if shown.auto_create_subnetworks:
        return f"network {name}, with a subnetwork in every region"
    if any(f"/regions/{region}/" in subnet for subnet in shown.subnetworks):
        raise unsupported_error(
            f"network {name} is of custom mode: name its subnetwork in {region}"
        )
    raise unsupported_error(f"network {name} has no subnetwork in {region}")


def _project(network: str) -> dict[str, str]:
    """Project that a shared network belongs to."""
    return {"project": network.split("/")[1]} if network.startswith("projects/") else {}


def _firewall_advice(access: Access, network: str) -> str:
    port, name = access.ssh_port, network.rpartition("/")[2]
    return (
        f"gcloud compute firewall-rules create rackrate-ssh --network={name} "
        f"--allow=tcp:{port} --source-ranges=ADDRESSES_OF_THE_WORKERS"
    )


def _let_in(ask: Ask, access: Access, network: str) -> str:
    """A rule of the network that lets SSH in; of a subnetwork the network is looked up by rules."""
    port = access.ssh_port
    rules = [
        rule.name
        for rule in ask("Firewalls", "list", **_project(network))
        if rule.direction == "INGRESS"
        and not rule.disabled
        and ("subnetworks/" in network or rule.network.endswith(f"/{network.rpartition('/')[2]}"))
        and any(_covers(allowed.I_p_protocol, allowed.ports, port) for allowed in rule.allowed)
    ]
    if not rules:
        raise unsupported_error(f"no firewall rule lets TCP port {port} in")
    return f"TCP port {port} is let in by {', '.join(sorted(rules)[:3])}"


def _covers(protocol: str, ports: Sequence[str], port: int) -> bool:
    if protocol not in {"tcp", "all"}:
        return False
    ranges = (text.partition("-") for text in ports)
    # A rule without ports lets all of them in.
    return not ports or any(int(low) <= port <= int(high or low) for low, _, high in ranges)


def _image(ask: Ask, access: Access, region: str, family: str) -> str:
    if image := access.in_region("image", region):
        return f"{image}, as the account says"
    shown = ask("Images", "get_from_family", project="debian-cloud", family=family)
    return str(shown.name)


def _look_at_quotas(overview: Overview, region: "compute_v1.Region", *, is_private: bool) -> None:
    for quota in region.quotas:
        needed = QUOTAS.get(quota.metric)
        if needed is None or (is_private and quota.metric == "IN_USE_ADDRESSES"):
            continue
        free = quota.limit - quota.usage
        detail = f"{free:g} of {quota.limit:g} {quota.metric} are free"
        if free >= needed:
            overview.ready("quota", detail)
        else:
            advice = f"Ask for more {quota.metric} in {overview.region}: IAM, Quotas."
            overview.not_ready("quota", detail, advice)
