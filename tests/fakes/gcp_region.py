"""What the faked Compute Engine tells of a region: its quotas, networks, firewall and images."""

from typing import Any

from tests.fakes.rest import Asked

IMAGES = ("debian-12", "debian-13", "debian-13-arm64", "ubuntu-2404-lts-amd64")


class Refused(Exception):
    def __init__(self, status: int, reason: str, message: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason, self.message = status, reason, message or f"no: {reason}"


class GceRegions:
    """Answers that launch nothing; documents as in
    cloud.google.com/compute/docs/reference/rest/v1/regions, …/networks and …/firewalls."""

    def __init__(self) -> None:
        self.networks: set[str] | None = None
        """None: every one. A project may be without a default one: skipDefaultNetworkCreation
        (cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints)."""
        self.quotas = {"CPUS": (24.0, 0.0), "IN_USE_ADDRESSES": (8.0, 0.0), "GPUS": (0.0, 0.0)}
        """Limit and usage by metric (cloud.google.com/compute/resource-usage)."""
        self.firewalls: list[dict[str, Any]] = [
            {
                "name": "default-allow-ssh",
                "network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/default",
                "direction": "INGRESS",
                "allowed": [{"IPProtocol": "tcp", "ports": ["20-22"]}],
            }
        ]

    def _regions_get(self, _: Asked, name: str) -> dict[str, Any]:
        quotas = [
            {"metric": metric, "limit": limit, "usage": usage}
            for metric, (limit, usage) in self.quotas.items()
        ]
        return {"name": name, "status": "UP", "zones": [f"{name}-a"], "quotas": quotas}

    def _networks_get(self, _: Asked, name: str) -> dict[str, Any]:
        if self.networks is None or f"global/networks/{name}" in self.networks:
            return {"name": name, "autoCreateSubnetworks": True}
        listed = [one for one in sorted(self.networks) if "subnetworks/" in one]
        if name == "default" or not listed:
            raise Refused(404, "notFound", f"The resource 'networks/{name}' was not found")
        return {"name": name, "autoCreateSubnetworks": False, "subnetworks": listed}

    def _subnetworks_get(self, _: Asked, region: str, name: str) -> dict[str, Any]:
        path = f"regions/{region}/subnetworks/{name}"
        if self.networks is not None and path not in self.networks:
            raise Refused(404, "notFound", f"The resource 'subnetworks/{name}' was not found")
        return {"name": name, "ipCidrRange": "10.164.0.0/20"}

    def _firewalls_list(self, _: Asked) -> dict[str, Any]:
        return {"items": self.firewalls}

    def _firewalls_insert(self, asked: Asked) -> dict[str, Any]:
        name = asked.body["name"]
        if any(rule["name"] == name for rule in self.firewalls):
            raise Refused(409, "alreadyExists", f"{name} already exists")
        self.firewalls.append(asked.body)
        # A change of the network takes a moment (…/rest/v1/globalOperations/wait).
        return {"name": f"operation-of-{name}", "operationType": "insert", "status": "RUNNING"}

    def _globalOperations_wait(self, _: Asked, name: str) -> dict[str, Any]:  # noqa: N802
        return {"name": name, "operationType": "insert", "status": "DONE"}

    def _firewalls_get(self, _: Asked, name: str) -> dict[str, Any]:
        for rule in self.firewalls:
            if rule["name"] == name:
                return rule
        raise Refused(404, "notFound", f"The resource 'firewalls/{name}' was not found")

    def _firewalls_delete(self, asked: Asked, name: str) -> dict[str, Any]:
        self.firewalls.remove(self._firewalls_get(asked, name))
        return {"name": f"operation-of-{name}", "operationType": "delete", "status": "DONE"}

    def _images_getFromFamily(self, _: Asked, name: str) -> dict[str, Any]:  # noqa: N802
        if name not in IMAGES:
            raise Refused(404, "notFound", f"The resource 'images/family/{name}' was not found")
        return {"name": f"{name}-v20261101", "family": name}
