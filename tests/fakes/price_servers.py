"""The price interfaces of every provider on one loopback port, and what can go wrong with them.

Answers are the synthetic ones of fixtures/prices, cut into pages as the provider would.
"""

import gzip
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.sax.saxutils import escape

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "prices"
JSON = "application/json"
VERSION = "20260101000000"
REGION_INDEX = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
PLAN_INDEX = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
DAYS_90 = "/stats/eurofxref/eurofxref-hist-90d.xml"
HISTORY = "/stats/eurofxref/eurofxref-hist.zip"
LEAST_ZIPPED = 256


@dataclass(frozen=True)
class Asked:
    """One request; names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


# Sends an answer of its own in the place of the reply.
Fault = Callable[[BaseHTTPRequestHandler, Reply], None]


def fixture(name: str) -> Any:
    return json.loads((FIXTURES / f"{name}-synthetic.json").read_text(encoding="utf-8"))


class PriceServer:
    """Answers, remembers what it was asked, and does wrong what it is told to.

    `documents` are the answers by the name of their fixture and may be changed; `files` are those
    of the ECB by path.
    """

    def __init__(self) -> None:
        names = [path.name.removesuffix("-synthetic.json") for path in FIXTURES.glob("*.json")]
        self.documents: dict[str, Any] = {name: fixture(name) for name in names}
        self.files: dict[str, bytes] = {}
        self.version = VERSION
        self.asked: list[Asked] = []
        self.azure_remaining = "9"
        self.faults_in_turn: list[Fault | None] = []
        """Of the next requests, each; None for a good answer."""
        self._faults: list[tuple[str, Fault]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fault(self, path: str, fault: Fault, times: int = 1) -> None:
        """The next so many requests whose path begins so go wrong."""
        self._faults += [(path, fault)] * times

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    @contextmanager
    def serving(self) -> Iterator["PriceServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                split = urlsplit(self.path)
                asked = Asked(
                    self.command,
                    split.path,
                    dict(parse_qsl(split.query, keep_blank_values=True)),
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(int(self.headers.get("Content-Length") or 0)),
                )
                with owner._lock:
                    owner.asked.append(asked)
                    reply, fault = owner._answer(asked), owner._due(asked.path)
                if fault is not None:
                    fault(self, reply)
                else:
                    owner._send(self, asked, reply)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *args: Any) -> None:
                pass

        return Handler

    def _due(self, path: str) -> Fault | None:
        if self.faults_in_turn:
            return self.faults_in_turn.pop(0)
        for place, (prefix, fault) in enumerate(self._faults):
            if path.startswith(prefix):
                del self._faults[place]
                return fault
        return None

    def _send(self, handler: BaseHTTPRequestHandler, asked: Asked, reply: Reply) -> None:
        """With an ETag, and compressed where that is wanted and worth it."""
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:16]}"'
        if reply.status == 200 and asked.headers.get("if-none-match") == etag:
            send(handler, Reply(status=304, headers={"ETag": etag}))
            return
        headers = {**reply.headers, "ETag": etag}
        body = reply.body
        if "gzip" in asked.headers.get("accept-encoding", "") and len(body) > LEAST_ZIPPED:
            body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}
        send(handler, Reply(body, reply.status, reply.kind, headers))

    # --- what providers answer ----------------------------------------------------------------------

    def _answer(self, asked: Asked) -> Reply:
        if asked.path in self.files:
            kind = "application/zip" if asked.path == HISTORY else "text/xml"
            return Reply(self.files[asked.path], kind=kind)
        for prefix, answer in (
            ("/v1/pricing", self._hetzner),
            ("/v1/server_types", self._hetzner),
            ("/_resources/", self._auction),
            ("/order/", self._robot),
            ("/1.0/order/catalog/public/", self._ovh),
            ("/v2/plans", self._vultr),
            ("/instance/v1/", self._scaleway),
            ("/1.3/", self._upcloud),
            ("/v2/sizes", self._digitalocean),
            ("/v4/", self._linode),
            ("/api/retail/prices", self._azure),
            ("/v1/services/", self._skus),
            ("/compute/v1/", self._machine_types),
            ("/offers/", self._bulk),
            ("/savingsPlan/", self._bulk),
            ("/", self._aws),
        ):
            if asked.path.startswith(prefix):
                return answer(asked)
        raise AssertionError(asked.path)

    def _hetzner(self, asked: Asked) -> Reply:
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            return error(401, "unauthorized")
        if asked.path == "/v1/pricing":
            return json_reply(self.documents["hetzner-pricing"])
        types = self.documents["hetzner-server-types"]["server_types"]
        page = int(asked.query["page"])
        pagination = {"page": page, "next_page": page + 1 if page < len(types) else None}
        return json_reply(
            {"server_types": types[page - 1 : page], "meta": {"pagination": pagination}}
        )

    def _auction(self, asked: Asked) -> Reply:
        return json_reply(self.documents["hetzner-auction"])

    def _robot(self, asked: Asked) -> Reply:
        if not asked.headers.get("authorization", "").startswith("Basic "):
            return error(401, "Unauthorized")
        is_market = asked.path == "/order/server_market/product"
        return json_reply(
            self.documents["hetzner-robot-market" if is_market else "hetzner-robot-products"]
        )

    def _ovh(self, asked: Asked) -> Reply:
        name = asked.path.rpartition("/")[2]
        if name == "cloud":
            return json_reply(self.documents["ovh-cloud"])
        # One half of the servers in each of the two.
        whole = self.documents["ovh-servers"]
        chosen = whole["plans"][:1] if name == "eco" else whole["plans"][1:]
        return json_reply({**whole, "plans": chosen})

    def _vultr(self, asked: Asked) -> Reply:
        if asked.path == "/v2/plans-metal":
            return json_reply(self.documents["vultr-plans-metal"])
        plans = self.documents["vultr-plans"]["plans"]
        is_second = asked.query.get("cursor") == "second"
        links = {"next": "" if is_second else "second", "prev": ""}
        chosen = plans[2:] if is_second else plans[:2]
        return json_reply({"plans": chosen, "meta": {"total": len(plans), "links": links}})

    def _upcloud(self, asked: Asked) -> Reply:
        if not asked.headers.get("authorization", "").startswith("Basic "):
            return error(401, "Authentication failed")
        return json_reply(self.documents[f"upcloud-{asked.path.split('/')[2]}"])

    def _scaleway(self, asked: Asked) -> Reply:
        servers = dict(self.documents["scaleway-servers"]["servers"])
        # More than one page holds.
        servers |= {f"SYN9-{number}": servers["SYN2-S"] for number in range(100)}
        names = list(servers)[(int(asked.query["page"]) - 1) * 100 :][:100]
        return json_reply({"servers": {name: servers[name] for name in names}})

    def _digitalocean(self, asked: Asked) -> Reply:
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            return error(401, "Unable to authenticate you")
        sizes = self.documents["digitalocean-sizes"]["sizes"]
        half, page = len(sizes) // 2, asked.query.get("page", "1")
        if page == "1":
            following = f"{self.url}/v2/sizes?page=2&per_page=200"
            return json_reply({"sizes": sizes[:half], "links": {"pages": {"next": following}}})
        return json_reply({"sizes": sizes[half:], "links": {"pages": {"prev": "…"}}})

    def _linode(self, asked: Asked) -> Reply:
        page = int(asked.query["page"])
        if asked.path == "/v4/regions":
            regions = [
                {"id": "eu-central", "capabilities": ["Linodes", "Vlans"]},
                {"id": "br-gru", "capabilities": ["Linodes"]},
                {"id": "us-store-only", "capabilities": ["Object Storage"]},
            ]
            return json_reply(
                {"data": regions[page - 1 : page], "page": page, "pages": len(regions)}
            )
        types = self.documents["linode-types"]["data"]
        half = len(types) // 2
        chosen = types[:half] if page == 1 else types[half:]
        return json_reply({"data": chosen, "page": page, "pages": 2})

    def _azure(self, asked: Asked) -> Reply:
        region = asked.query.get("$filter", "").rpartition("armRegionName eq ")[2].strip("'")
        items = [
            item
            for item in self.documents["azure-retail"]["Items"]
            if item["armRegionName"] == region
        ]
        skip, size = int(asked.query.get("$skip", "0")), 8
        following = f"{self.url}{asked.path}?{urlencode({**asked.query, '$skip': skip + size})}"
        document = {
            "Items": items[skip : skip + size],
            "NextPageLink": following if skip + size < len(items) else None,
        }
        remaining = {"x-ms-ratelimit-remaining-retailPrices-requests": self.azure_remaining}
        return json_reply(document, remaining)

    def _skus(self, asked: Asked) -> Reply:
        if not (asked.headers.get("x-goog-api-key") or asked.headers.get("authorization")):
            return error(403, "Method doesn't allow unregistered callers")
        skus = self.documents["gcp-skus"]["skus"]
        half = len(skus) // 2
        if asked.query.get("pageToken") == "second":
            return json_reply({"skus": skus[half:], "nextPageToken": ""})
        return json_reply({"skus": skus[:half], "nextPageToken": "second"})

    def _machine_types(self, asked: Asked) -> Reply:
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            return error(401, "Request is missing required authentication credential")
        items = self.documents["gcp-machine-types"]["items"]
        first = next(iter(items))
        if asked.query.get("pageToken") == "second":
            return json_reply({"items": {name: v for name, v in items.items() if name != first}})
        return json_reply({"items": {first: items[first]}, "nextPageToken": "second"})

    def _bulk(self, asked: Asked) -> Reply:
        offers = f"/offers/v1.0/aws/AmazonEC2/{self.version}/eu-west-1/index.json"
        plans = f"/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/{self.version}/eu-west-1/index.json"
        region = {"regionCode": "eu-west-1"}
        documents: dict[str, Any] = {
            REGION_INDEX: {"regions": {"eu-west-1": {**region, "currentVersionUrl": offers}}},
            PLAN_INDEX: {"regions": [{**region, "versionUrl": plans}]},
            offers: self.documents["aws-offer-file"],
            plans: self.documents["aws-savings-plans"],
        }
        if asked.path not in documents:
            return Reply(b"<Error>NoSuchKey</Error>", 404, "application/xml")
        return json_reply(documents[asked.path])

    def _aws(self, asked: Asked) -> Reply:
        if "AWS4-HMAC-SHA256" not in asked.headers.get("authorization", ""):
            return error(403, "MissingAuthenticationToken")
        if asked.headers.get("x-amz-target", "").endswith(".GetProducts"):
            entries = self.documents["aws-get-products"]["PriceList"]
            half = len(entries) // 2
            if json.loads(asked.body).get("NextToken") == "second":
                return json_reply({"FormatVersion": "aws_v1", "PriceList": entries[half:]})
            page = {"PriceList": entries[:half], "NextToken": "second"}
            return json_reply({"FormatVersion": "aws_v1", **page})
        form = dict(parse_qsl(asked.body.decode()))
        if form["Action"] == "DescribeAvailabilityZones":
            return Reply(zones_xml(), kind="text/xml")
        quotes = self.documents["aws-spot"]["SpotPriceHistory"]
        half, is_second = len(quotes) // 2, form.get("NextToken") == "second"
        page_xml = spot_xml(
            quotes[half:] if is_second else quotes[:half], "" if is_second else "second"
        )
        return Reply(page_xml, kind="text/xml")


def json_reply(document: Any, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(json.dumps(document).encode(), headers=headers or {})


def error(status: int, message: str) -> Reply:
    return Reply(json.dumps({"error": {"message": message}}).encode(), status)


def zones_xml() -> bytes:
    items = "".join(
        f"<item><zoneName>eu-west-1{letter}</zoneName><zoneId>euw1-az{number}</zoneId>"
        "<regionName>eu-west-1</regionName></item>"
        for number, letter in enumerate("cab", 1)
    )
    return _xml(
        "DescribeAvailabilityZones", f"<availabilityZoneInfo>{items}</availabilityZoneInfo>"
    )


def spot_xml(quotes: list[dict[str, str]], token: str) -> bytes:
    names = ("InstanceType", "ProductDescription", "SpotPrice", "Timestamp", "AvailabilityZone")
    items = "".join(
        "<item>"
        + "".join(
            f"<{name[0].lower()}{name[1:]}>{escape(quote[name])}</{name[0].lower()}{name[1:]}>"
            for name in names
        )
        + "</item>"
        for quote in quotes
    )
    body = f"<spotPriceHistorySet>{items}</spotPriceHistorySet><nextToken>{token}</nextToken>"
    return _xml("DescribeSpotPriceHistory", body)


def _xml(action: str, body: str) -> bytes:
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    return f'<{action}Response xmlns="{space}">{body}</{action}Response>'.encode()


def send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    handler.send_response(reply.status)
    handler.send_header("Content-Type", reply.kind)
    handler.send_header("Content-Length", str(len(reply.body)))
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(reply.body)
