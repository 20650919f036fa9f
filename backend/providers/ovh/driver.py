"""Machines of OVHcloud: instances of a Public Cloud project (api.ovh.com/console, /cloud).

Instances have no tags and no labels; their name carries all marks.
"""

import hashlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar

import httpx

from backend.foundation.errors import Reason
from backend.providers.hoster_calls import read_document, refusal
from backend.providers.hosters import HosterDriver, Order, Server, public_ipv4
from backend.providers.machines import Access, Overview, ProviderResourceState, unsupported_error


class OvhSignature(httpx.Auth):
    """Signs requests (help.ovhcloud.com/csm/en-api-getting-started-ovhcloud-api, "Sign requests").

    Signatures follow OVHcloud's clock, as ours may be off; it is asked before the first request.
    """

    requires_response_body = True

    def __init__(
        self, secret: Mapping[str, str], check_time: Callable[[httpx.Response], None]
    ) -> None:
        self._secret, self._check_time = secret, check_time
        self._ahead_s: float | None = None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._ahead_s is None:
            answer = yield httpx.Request("GET", request.url.join("/1.0/auth/time"))
            self._check_time(answer)
            self._ahead_s = int(answer.text) - time.time()
        stamp = str(int(time.time() + self._ahead_s))
        keys = [self._secret.get(name, "") for name in ("application_secret", "consumer_key")]
        parts = [*keys, request.method, str(request.url), request.content.decode(), stamp]
        # Not our choice of hash: it is what the API compares with.
        digest = hashlib.sha1("+".join(parts).encode()).hexdigest()  # noqa: S324
        request.headers["X-Ovh-Application"] = self._secret.get("application_key", "")
        request.headers["X-Ovh-Consumer"] = keys[1]
        request.headers["X-Ovh-Timestamp"] = stamp
        request.headers["X-Ovh-Signature"] = f"$1${digest}"
        yield request


class OvhDriver(HosterDriver):
    """Settings: project, api. Secret: application_key, application_secret, consumer_key."""

    image = "debian-12"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "BUILD": ProviderResourceState.PENDING,
        "BUILDING": ProviderResourceState.PENDING,
        "ACTIVE": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"quota", Reason.QUOTA),
        refusal(r"no valid host|not enough|out of stock", Reason.CAPACITY, is_retryable=True),
        refusal(r"invalid.?(credential|signature|key)|not.?granted|credential", Reason.AUTH),
    )

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._signature = OvhSignature(access.secret, self._check_time)

    def _api(self) -> str:
        return f"https://{self._settings.get('api') or 'eu'}.api.ovh.com"

    def _credentials(self) -> Mapping[str, Any]:
        return {"auth": self._signature}

    def _check_time(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            raise self.build_error(answer, read_document(answer))

    def _error_text(self, document: Any) -> str:
        return f"{document.get('errorCode') or document.get('class', '')} {document.get('message')}"

    def _project(self, rest: str = "") -> str:
        return f"/1.0/cloud/project/{self._settings.get('project', '')}{rest}"

    def _path(self, region: str = "") -> str:
        return self._project("/instance")

    async def whoami(self) -> str:
        return f"project {(await self.ask('GET', self._project()))['description']}"

    async def _quota(self, region: str, overview: Overview) -> None:
        for quota in await self.ask("GET", self._project("/quota")):
            if quota["region"] == region:
                limits = quota["instance"]
                used, limit = limits["usedInstances"], limits["maxInstances"]
                detail = f"{used} of {limit} instances, {limits['usedCores']} of {limits['maxCores']} cores"
                if used < limit and limits["usedCores"] < limits["maxCores"]:
                    overview.ready("quota", detail)
                else:
                    overview.not_ready("quota", detail, "Ask for a higher quota of the region.")

    async def _types(self, region: str) -> Sequence[str]:
        return [flavor["name"] for flavor in await self._flavors(region)]

    async def _flavors(self, region: str) -> Sequence[Any]:
        flavors = await self.ask("GET", self._project("/flavor"), query={"region": region})
        return [flavor for flavor in flavors if flavor["available"] and flavor["osType"] == "linux"]

    async def _image(self, region: str) -> str:
        query = {"osType": "linux", "region": region}
        images = await self.ask("GET", self._project("/image"), query=query)
        return self._choose_image(region, {image["name"]: image["id"] for image in images})

    async def _list(self) -> Sequence[Any]:
        instances: list[Any] = await self.ask("GET", self._path())
        return instances

    async def _request(self, order: Order) -> Any:
        spec = order.spec
        ids = [
            flavor["id"]
            for flavor in await self._flavors(spec.region)
            if flavor["name"] == spec.machine_type
        ]
        if not ids:
            raise unsupported_error(f"{spec.region} does not sell {spec.machine_type}")
        return {
            "name": order.name,
            "region": spec.region,
            "flavorId": ids[0],
            "imageId": await self._image(spec.region),
            "userData": order.user_data,
            # By the hour: a month's price is not given back.
            "monthlyBilling": False,
        }

    def _read(self, instance: Any) -> Server:
        addresses = instance.get("ipAddresses") or ()
        return Server(
            id=instance["id"],
            marks=instance["name"].split("."),
            state=self._state(instance["status"]),
            region=instance["region"],
            created=instance["created"],
            address=public_ipv4(
                address["ip"]
                for address in addresses
                if address["type"] == "public" and address["version"] == 4
            ),
        )


DRIVER = OvhDriver
