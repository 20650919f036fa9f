"""Documents of Azure as its REST reference and its pages on errors show them."""

from typing import Any

# Zones by region and size.
SIZES = {
    ("westeurope", "Standard_D2s_v5"): ("1", "2", "3"),
    ("westeurope", "Standard_D2ps_v5"): ("1",),
    ("westeurope", "Standard_B2s"): (),
    ("westeurope", "Standard_D2s_v6"): ("1",),
    ("westeurope", "Standard_D2_v3"): ("1",),
    ("westeurope", "Standard_E2bs_v5"): ("1",),
    ("northeurope", "Standard_D2s_v5"): ("1",),
}
# As rest/api/compute/resource-skus/list states them: controllers, accelerated networking, generations.
CAPABILITIES = {
    "Standard_D2s_v5": ("SCSI", "True", "V1,V2"),
    "Standard_D2ps_v5": ("SCSI", "True", "V2"),
    "Standard_B2s": (None, "False", "V1,V2"),
    "Standard_D2s_v6": ("NVMe", "True", "V2"),
    "Standard_D2_v3": (None, "False", "V1"),
    "Standard_E2bs_v5": ("SCSI, NVMe", "True", "V1,V2"),
}
FAMILIES = {"Standard_B2s": "standardBSFamily", "Standard_D2ps_v5": "standardDPSv5Family"}
# Controllers that the image states, and its generation (rest/api/compute/virtual-machine-images/get).
IMAGES = {
    ("Debian", "debian-12", "12-gen2"): ("SCSI, NVMe", "V2"),
    ("Debian", "debian-12", "12-arm64"): ("SCSI, NVMe", "V2"),
    ("Debian", "debian-12", "12"): (None, "V1"),
    ("Canonical", "0001-com-ubuntu-server-focal", "20_04-lts-gen2"): (None, "V2"),
}


class Refused(Exception):
    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(code)
        self.status = status
        self.document = {"error": {"code": code, "message": message, **more}}


POLICY = [
    {
        "type": "PolicyViolation",
        "info": {
            "policyDefinitionDisplayName": "Allowed virtual machine size SKUs",
            "policyAssignmentDisplayName": "Only small machines",
        },
    }
]


def documented(name: str) -> Refused:
    """The answer to what goes wrong, by the name of the fault."""
    family = "standardDSv5Family"
    status, code, message = {
        "throttled": (429, "TooManyRequests", "The request is being throttled."),
        "forbidden": (403, "AuthorizationFailed", "The client does not have authorization."),
        "broken": (503, "ServiceUnavailable", "The service is unavailable."),
        "quota": (
            409,
            "OperationNotAllowed",
            f"Operation could not be completed as it results in exceeding approved {family} Cores quota.",
        ),
        "policy": (
            403,
            "RequestDisallowedByPolicy",
            "Resource 'machine' was disallowed by policy.",
        ),
        "sku": (
            409,
            "SkuNotAvailable",
            "The requested VM size is currently not available in location 'westeurope'.",
        ),
        "locked": (409, "ScopeLocked", "The scope cannot perform delete: it is locked."),
        "delete_failed": (500, "InternalServerError", "The server encountered an error."),
        "being_deleted": (
            409,
            "ResourceGroupBeingDeleted",
            "The group is in deprovisioning state.",
        ),
        "unregistered": (
            409,
            "MissingSubscriptionRegistration",
            "The subscription is not registered to use namespace 'Microsoft.Compute'.",
        ),
    }[name]
    return Refused(
        status, code, message, **({"additionalInfo": POLICY} if name == "policy" else {})
    )


def provider(namespace: str, *, is_registered: bool) -> dict[str, Any]:
    """rest/api/resources/providers/get"""
    state = "Registered" if is_registered else "NotRegistered"
    return {"namespace": namespace, "registrationState": state}


def skus(condition: str) -> list[dict[str, Any]]:
    """rest/api/compute/resource-skus/list; one size is withheld from the subscription."""
    region = condition.split("'")[1]
    sold = [(name, zones) for (at, name), zones in SIZES.items() if at == region]
    withheld = [("Standard_NC24ads_A100_v4", ("1",))] if sold else []
    return [
        {"resourceType": "disks", "name": "Standard_LRS", "locations": [region]},
        *(
            {
                "resourceType": "virtualMachines",
                "name": name,
                "family": FAMILIES.get(name, "standardDSv5Family"),
                "locations": [region],
                "locationInfo": [{"location": region, "zones": list(zones)}],
                "capabilities": _capabilities(name),
                "restrictions": [{"type": "Location", "reasonCode": "NotAvailableForSubscription"}]
                if (name, zones) in withheld
                else [],
            }
            for name, zones in [*sold, *withheld]
        ),
    ]


def _capabilities(size: str) -> list[dict[str, str]]:
    names = ("DiskControllerTypes", "AcceleratedNetworkingEnabled", "HyperVGenerations")
    values = CAPABILITIES.get(size, (None, "False", "V1,V2"))
    return [
        {"name": name, "value": value} for name, value in zip(names, values, strict=True) if value
    ]


def check_boot(body: dict[str, Any]) -> None:
    """Refusals of sizes that do not boot the image, or not with the disk controller or the network."""
    properties = body["properties"]
    size, storage = properties["hardwareProfile"]["vmSize"], properties["storageProfile"]
    image = storage["imageReference"]
    stated, generation = IMAGES[image["publisher"], image["offer"], image["sku"]]
    controllers, has_fast_network, generations = CAPABILITIES[size]
    if generation not in generations:
        detail = f"The selected VM size '{size}' cannot boot Hypervisor Generation"
        raise Refused(400, "BadRequest", f"{detail} '{generation[1:]}'.")
    # github.com/kubermatic/machine-controller/issues/1980: "Azure defaults to SCSI".
    asked = storage.get("diskControllerType", "SCSI")
    if asked not in (controllers or "SCSI") or asked not in (stated or "SCSI"):
        # github.com/kubernetes-sigs/image-builder/pull/1875
        detail = f"The VM size '{size}' cannot boot with OS image or disk. Please check that disk"
        raise Refused(400, "InvalidParameter", f"{detail} controller types are supported.")
    (interface,) = properties["networkProfile"]["networkInterfaceConfigurations"]
    is_fast = interface["properties"]["enableAcceleratedNetworking"]
    if is_fast and has_fast_network != "True":
        # learn.microsoft.com/azure/virtual-network/accelerated-networking-overview
        detail = f"VMSize {size} is not supported for enabling Accelerated Networking"
        raise Refused(400, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", detail)


def usages(cores_left: int) -> list[dict[str, Any]]:
    """rest/api/compute/usage/list"""
    rows = [
        ("cores", 10, 10 - cores_left),
        ("standardDSv5Family", 10, 2),
        ("standardMSFamily", 0, 0),
    ]
    return [
        {
            "unit": "Count",
            "currentValue": used,
            "limit": limit,
            "name": {"value": name, "localizedValue": name},
        }
        for name, limit, used in rows
    ]


def image_versions(publisher: str, offer: str, sku: str) -> list[dict[str, Any]]:
    """rest/api/compute/virtual-machine-images/list"""
    if (publisher, offer, sku) not in IMAGES:
        return []
    return [
        {"name": "0.20260112.1989", "location": "westeurope", "id": f"/{publisher}/{offer}/{sku}"}
    ]


def image_version(publisher: str, offer: str, sku: str, version: str) -> dict[str, Any]:
    """rest/api/compute/virtual-machine-images/get"""
    controllers, generation = IMAGES[publisher, offer, sku]
    features = [{"name": "DiskControllerTypes", "value": controllers}] if controllers else []
    properties = {"hyperVGeneration": generation, "features": features}
    return {"name": version, "location": "westeurope", "properties": properties}
