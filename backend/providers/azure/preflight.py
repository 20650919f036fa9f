"""True if a launch in a region of Azure would be let pass, line by line."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from backend.providers.azure.documents import IMAGES, image_reference
from backend.providers.azure.library import translate_error
from backend.providers.machines import Access, Overview, Preflight, unsupported_error

SERVICES = ("Microsoft.Compute", "Microsoft.Network")
ROLE_ADVICE = "Compare the rights of the identity with docs/policies/azure-role.json."
NVME_ADVICE = (
    "Sizes that have NVMe disks only, such as Standard_D2s_v6, may refuse it."
    " Set Image to one that Microsoft lists for NVMe."
)
SMALLEST_VCPUS = 2
# Of all families together, on demand and spot; those of families follow where they are used up.
QUOTAS = ("cores", "lowPriorityCores")


class AskedSubscription(Protocol):
    """Questions to one subscription."""

    @property
    def groups(self) -> Any: ...

    @property
    def compute(self) -> Any: ...

    def identity(self) -> str: ...

    def sizes(self, region: str) -> Iterator[dict[str, Any]]: ...


def preflight_lines(
    clients: AskedSubscription,
    access: Access,
    region: str,
) -> list[Preflight]:
    """The lines of a region; those after one that hinders all others are left out."""
    overview = Overview(region)

    def look(topic: str, work: Callable[[], str], advice: str) -> None:
        def answered() -> str:
            from azure.core.exceptions import AzureError

            try:
                return work()
            except AzureError as error:
                raise translate_error(error) from None

        overview.look(topic, answered, advice)

    look("identity", clients.identity, ROLE_ADVICE)
    if not overview.is_ready():
        return overview.lines
    for service in SERVICES:
        advice = f"az provider register --namespace {service}"
        look("service", partial(_registration_state, clients, service), advice)
    if not overview.is_ready():
        return overview.lines
    look(
        "region",
        lambda: _selling(clients, region),
        "See Azure's regions; ask its support for access.",
    )
    overview.look_at_address(access)
    for arch in IMAGES:
        images: list[list[str]] = []
        look(f"image {arch}", partial(_image, clients, access, region, arch, images), ROLE_ADVICE)
        for image in images:
            _look_at_controllers(overview, clients, arch, image)
    look(
        "quota",
        lambda: _quota(clients, region),
        f"Ask for more vCPUs in {region}: Quotas, Compute.",
    )
    overview.unknown(
        "launch", "policies show at the first one", "Rent the smallest size for a quick run."
    )
    return overview.lines


def _registration_state(clients: AskedSubscription, service: str) -> str:
    state = clients.groups.providers.get(service)["registrationState"]
    if state != "Registered":
        raise unsupported_error(f"{service} is {state}")
    return f"{service} is registered"


def _selling(clients: AskedSubscription, region: str) -> str:
    sizes = list(clients.sizes(region))
    open_ones = [
        size
        for size in sizes
        if not any(limit.get("type") == "Location" for limit in size.get("restrictions") or ())
    ]
    if not open_ones:
        raise unsupported_error("it sells no machines to this subscription")
    return f"it sells {len(open_ones)} of {len(sizes)} sizes to this subscription"


def _image(
    clients: AskedSubscription, access: Access, region: str, arch: str, images: list[list[str]]
) -> str:
    """Adds publisher, offer, SKU and version of the marketplace's image to `images`."""
    reference = image_reference(access, region, arch)
    if "id" in reference:
        return f"{reference['id']}, as the account says"
    names = [reference[name] for name in ("publisher", "offer", "sku")]
    shown = clients.compute.virtual_machine_images.list(region, *names, top=1)
    if not shown:
        raise unsupported_error(f"{':'.join(names)} has no version in {region}")
    images.append([*names, str(shown[0]["name"])])
    return ":".join(images[-1])


def _look_at_controllers(
    overview: Overview, clients: AskedSubscription, arch: str, image: list[str]
) -> None:
    """Disk controllers that the image states. Without NVMe most sizes boot it, so nothing is
    hindered."""
    from azure.core.exceptions import AzureError

    topic = f"NVMe {arch}"
    try:
        shown = clients.compute.virtual_machine_images.get(overview.region, *image).as_dict()
    except AzureError as error:
        overview.unknown(topic, translate_error(error).detail, ROLE_ADVICE)
        return
    features = {
        feature["name"]: feature["value"]
        for feature in (shown.get("properties") or {}).get("features") or ()
    }
    controllers = features.get("DiskControllerTypes", "")
    if "nvme" in controllers.lower():
        overview.ready(topic, f"the image boots from {controllers}")
    else:
        overview.unknown(topic, "the image does not state that it boots from NVMe", NVME_ADVICE)


def _quota(clients: AskedSubscription, region: str) -> str:
    """Free quota of all, and families that have nothing left."""
    usages = [usage.as_dict() for usage in clients.compute.usage.list(region)]
    free = {name: _free(usages, name) for name in QUOTAS}
    said = [f"{left} vCPUs of {name} are free" for name, left in free.items() if left is not None]
    full = [
        usage["name"]["value"]
        for usage in usages
        if usage["name"]["value"].endswith("Family")
        and usage["limit"] - usage["currentValue"] < SMALLEST_VCPUS
    ]
    if full:
        said.append(f"nothing is left of {len(full)} families such as {full[0]}")
    if (free["cores"] or 0) < SMALLEST_VCPUS:
        raise unsupported_error("; ".join(said))
    return "; ".join(said)


def _free(usages: list[dict[str, Any]], name: str) -> int | None:
    of_name: Iterator[Mapping[str, Any]] = (
        usage for usage in usages if usage["name"]["value"] == name
    )
    usage = next(of_name, None)
    return None if usage is None else int(usage["limit"]) - int(usage["currentValue"])
