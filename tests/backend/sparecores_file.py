"""Spare Cores files for tests and benches: invented figures in the true columns, of two ages.

`classic` is the form up to sc-crawler 0.8 (a score has a server), else that of 0.9 and later (a
score has a resource, and its environment).
"""

import json
import random
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.measure.metrics.suites import GEEKBENCH_PARTS, PASSMARK_CPU, PASSMARK_MEMORY_PARTS

AT = "2026-08-20 10:15:30.123456"
STATUS = "status VARCHAR(8) NOT NULL, observed_at DATETIME NOT NULL"
CATALOG = f"""
CREATE TABLE vendor (
    vendor_id VARCHAR NOT NULL, name VARCHAR NOT NULL, homepage VARCHAR,
    country_id VARCHAR NOT NULL, founding_year INTEGER NOT NULL, {STATUS},
    CONSTRAINT pk_vendor PRIMARY KEY (vendor_id)
);
CREATE TABLE region (
    vendor_id VARCHAR NOT NULL, region_id VARCHAR NOT NULL, name VARCHAR NOT NULL,
    api_reference VARCHAR NOT NULL, display_name VARCHAR NOT NULL, aliases JSON NOT NULL,
    country_id VARCHAR NOT NULL, city VARCHAR, green_energy BOOLEAN, {STATUS},
    CONSTRAINT pk_region PRIMARY KEY (vendor_id, region_id)
);
CREATE TABLE server (
    vendor_id VARCHAR NOT NULL, server_id VARCHAR NOT NULL, name VARCHAR NOT NULL,
    api_reference VARCHAR NOT NULL, display_name VARCHAR NOT NULL, description VARCHAR NOT NULL,
    family VARCHAR, vcpus INTEGER NOT NULL, hypervisor VARCHAR, cpu_allocation VARCHAR(9) NOT NULL,
    cpu_cores INTEGER, cpu_speed FLOAT, cpu_architecture VARCHAR(10) NOT NULL,
    cpu_manufacturer VARCHAR, cpu_family VARCHAR, cpu_model VARCHAR, cpu_flags JSON NOT NULL,
    memory_amount INTEGER NOT NULL, memory_amount_actual INTEGER, gpu_count FLOAT NOT NULL,
    storage_size INTEGER NOT NULL, storage_type VARCHAR(8), storages JSON NOT NULL,
    inbound_traffic FLOAT NOT NULL, outbound_traffic FLOAT NOT NULL, ipv4 INTEGER NOT NULL,
    {STATUS}, CONSTRAINT pk_server PRIMARY KEY (vendor_id, server_id)
);
CREATE TABLE server_price (
    vendor_id VARCHAR NOT NULL, region_id VARCHAR NOT NULL, zone_id VARCHAR NOT NULL,
    server_id VARCHAR NOT NULL, operating_system VARCHAR NOT NULL, allocation VARCHAR(8) NOT NULL,
    unit VARCHAR(8) NOT NULL, price FLOAT NOT NULL, price_upfront FLOAT NOT NULL,
    price_tiered JSON NOT NULL, currency VARCHAR NOT NULL, {STATUS},
    CONSTRAINT pk_server_price PRIMARY KEY (vendor_id, region_id, zone_id, server_id, allocation)
);
"""
SCORES = {
    True: f"""
CREATE TABLE benchmark_score (
    vendor_id VARCHAR NOT NULL, server_id VARCHAR NOT NULL, benchmark_id VARCHAR NOT NULL,
    config JSON NOT NULL, framework_version VARCHAR, kernel_version VARCHAR, score FLOAT NOT NULL,
    note VARCHAR, {STATUS},
    CONSTRAINT pk_benchmark_score PRIMARY KEY (vendor_id, server_id, benchmark_id, config)
);
""",
    False: f"""
CREATE TABLE benchmark_score (
    vendor_id VARCHAR NOT NULL, benchmark_id VARCHAR NOT NULL, resource_type VARCHAR(8) NOT NULL,
    resource_id VARCHAR NOT NULL, config JSON NOT NULL, framework_version VARCHAR,
    environment JSON, score FLOAT NOT NULL, score_breakdown JSON, note VARCHAR, {STATUS},
    CONSTRAINT pk_benchmark_score
        PRIMARY KEY (vendor_id, benchmark_id, resource_type, resource_id, config)
);
""",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "vendor": {"name": "A vendor", "country_id": "US", "founding_year": 2006},
    "region": {
        "name": "Somewhere (One)",
        "display_name": "One (IE)",
        "aliases": "[]",
        "country_id": "IE",
    },
    "server": {
        "description": "",
        "vcpus": 2,
        "cpu_allocation": "DEDICATED",
        "cpu_architecture": "X86_64",
        "cpu_flags": "[]",
        "memory_amount": 8192,
        "gpu_count": 0,
        "storage_size": 0,
        "storages": "[]",
        "inbound_traffic": 0,
        "outbound_traffic": 0,
        "ipv4": 0,
    },
    "server_price": {
        "zone_id": "a",
        "operating_system": "Linux",
        "allocation": "ONDEMAND",
        "unit": "HOUR",
        "price_upfront": 0,
        "price_tiered": "[]",
        "currency": "USD",
    },
    "benchmark_score": {"config": "{}", "framework_version": "1.0"},
}
COMMON = {"status": "ACTIVE", "observed_at": AT}


class Writer:
    """A file to which rows are added; every column has a harmless default."""

    def __init__(self, path: Path, *, is_classic: bool = True) -> None:
        self.path = path
        self.is_classic = is_classic
        self.database = sqlite3.connect(path)
        self.database.executescript(CATALOG + SCORES[is_classic])

    def vendor(self, vendor_id: str, **given: Any) -> None:
        self._add("vendor", vendor_id=vendor_id, **given)

    def region(self, vendor_id: str, region_id: str, **given: Any) -> None:
        given = {"api_reference": region_id, **given}
        self._add("region", vendor_id=vendor_id, region_id=region_id, **given)

    def server(self, vendor_id: str, server_id: str, **given: Any) -> None:
        name = given.pop("name", server_id)
        given = {"api_reference": name, "display_name": name, **given}
        self._add("server", vendor_id=vendor_id, server_id=server_id, name=name, **given)

    def price(
        self, vendor_id: str, region_id: str, server_id: str, price: float, **given: Any
    ) -> None:
        place = {"vendor_id": vendor_id, "region_id": region_id, "server_id": server_id}
        self._add("server_price", **place, price=price, **given)

    def score(
        self, vendor_id: str, server_id: str, benchmark_id: str, score: float, **given: Any
    ) -> None:
        config = given.pop("config", {})
        text = config if isinstance(config, str) else json.dumps(dict(sorted(config.items())))
        place = (
            {"server_id": server_id}
            if self.is_classic
            else {"resource_type": given.pop("resource_type", "SERVER"), "resource_id": server_id}
        )
        row = {"vendor_id": vendor_id, "benchmark_id": benchmark_id, "score": score}
        self._add("benchmark_score", **row, **place, config=text, **given)

    def done(self) -> Path:
        """The file, written."""
        self.database.commit()
        self.database.close()
        return self.path

    def many(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of one and the same columns."""
        first = {**DEFAULTS[table], **COMMON}
        told = ({**first, **row} for row in rows)
        head = next(told)
        names = tuple(head)
        self.database.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            _values(names, head, told),
        )

    def _add(self, table: str, **row: Any) -> None:
        self.many(table, [row])


def _values(
    names: tuple[str, ...], head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Any, ...]]:
    yield tuple(head[name] for name in names)
    for row in rows:
        yield tuple(row[name] for name in names)


# --- a file of full size --------------------------------------------------------------------------

VENDORS = ("aws", "azure", "gcp", "alicloud", "hcloud", "ovh", "upcloud", "vultr")
# Servers in all; of them with scores and a price; regions.
SIZES = (
    (1400, 1180, 34),
    (1440, 1147, 60),
    (600, 394, 40),
    (1500, 512, 30),
    (30, 30, 6),
    (80, 70, 17),
    (150, 134, 13),
    (700, 146, 32),
)
PRICED = 16_856
ALGORITHMS = (
    "AES-256-CBC",
    "ARIA-256-CBC",
    "CAMELLIA-256-CBC",
    "SM4-CBC",
    "blake2b512",
    "sha256",
    "sha512",
    "sha3-256",
    "sha3-512",
    "shake128",
    "shake256",
)
CONFIGS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("stress_ng:best1", ({},)),
    ("stress_ng:bestn", ({},)),
    ("stress_ng:div16", tuple({"cores": n} for n in range(1, 17))),
    ("stress_ng:cpu_all", ({"cores": 1}, {"cores": 16})),
    *(
        (f"geekbench:{part}", ({"cores": "single"}, {"cores": "multi"}))
        for part in ("score", *GEEKBENCH_PARTS)
    ),
    *((f"passmark:{part}", ({},)) for part, *_ in (*PASSMARK_CPU, *PASSMARK_MEMORY_PARTS)),
    (
        "bw_mem",
        tuple(
            {"operation": operation, "size": size}
            for operation in ("rd", "wr", "rdwr")
            for size in (0.016384, 0.262144, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 512.0)
        ),
    ),
    *(
        (
            f"compression_text:{what}",
            tuple(
                {"algo": algo, "compression_level": level, "cores": cores}
                for algo in ("brotli", "bzip2", "gzip", "lz4", "lzma", "zpaq", "zstd")
                for level in (1, 3, 5, 9)
                for cores in ("single", "multi")
            ),
        )
        for what in ("compress", "decompress", "ratio")
    ),
    (
        "openssl",
        tuple(
            {"algo": algo, "block_size": size}
            for algo in ALGORITHMS
            for size in (16, 64, 256, 1024, 8192, 16384)
        ),
    ),
    *(
        (
            f"static_web:{what}",
            tuple(
                {"connections_per_vcpus": float(2**power), "size": size}
                for power in range(-1, 6)
                for size in ("1k", "16k", "64k", "256k", "512k")
            ),
        )
        for what in ("rps", "rps-extrapolated", "throughput", "throughput-extrapolated", "latency")
    ),
    *(
        (
            f"redis:{what}",
            tuple({"operation": "SET", "pipeline": float(4**power)} for power in range(5)),
        )
        for what in ("rps", "rps-extrapolated", "latency")
    ),
    (
        "llm_speed:text_generation",
        tuple({"model": "SmolLM-135M.Q4_K_M.gguf", "tokens": n} for n in (16, 128, 512)),
    ),
    ("bogomips", ({},)),
    ("workload_profile:web", ({},)),
)


def full_size(path: Path, *, share: float = 1.0, seed: int = 5) -> dict[str, int]:
    """A file with as many servers, prices and scores as the public one, or a share of them.

    Rows of each kind.
    """
    rng, writer = random.Random(seed), Writer(path)
    for name, (count, _, regions) in zip(VENDORS, SIZES, strict=True):
        writer.vendor(name, name=name.upper())
        for region in range(_part(regions, share)):
            writer.region(name, f"r{region}", api_reference=f"{name}-r{region}")
        writer.many("server", _servers(name, _part(count, share), rng))
    prices = list(_prices(rng, share))
    writer.many("server_price", prices)
    scores = 0
    for name, (_, scored, _) in zip(VENDORS, SIZES, strict=True):
        for number in range(_part(scored, share)):
            rows = list(_scores(name, f"type-{number}", rng))
            writer.many("benchmark_score", rows)
            scores += len(rows)
    writer.done()
    servers = sum(_part(count, share) for count, _, _ in SIZES)
    return {"servers": servers, "prices": len(prices), "scores": scores}


def _part(count: int, share: float) -> int:
    return max(2, round(count * share))


def _servers(vendor: str, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(count):
        name, vcpus = f"type-{number}", rng.choice((1, 2, 4, 8, 16, 32, 64))
        yield {
            "vendor_id": vendor,
            "server_id": name,
            "name": name,
            "api_reference": name,
            "display_name": name,
            "vcpus": vcpus,
            "cpu_allocation": rng.choice(("DEDICATED", "DEDICATED", "SHARED", "BURSTABLE")),
            "cpu_manufacturer": rng.choice(("Intel", "AMD", "Ampere")),
            "memory_amount": vcpus * 4096,
            "status": "INACTIVE" if number % 50 == 49 else "ACTIVE",
        }


def _prices(rng: random.Random, share: float) -> Iterator[dict[str, Any]]:
    """One of most types, and those of AWS in as many regions as it takes."""
    left = _part(PRICED, share)
    for name, (count, scored, _) in zip(VENDORS, SIZES, strict=True):
        total = _part(count, share)
        for number in range(min(total, _part(scored, share) + total // 8)):
            yield _price(name, 0, number, rng)
            left -= 1
    places = [
        (region, number)
        for region in range(1, _part(SIZES[0][2], share))
        for number in range(_part(SIZES[0][0], share))
    ]
    for region, number in rng.sample(places, max(0, min(left, len(places)))):
        yield _price("aws", region, number, rng)


def _price(vendor: str, region: int, number: int, rng: random.Random) -> dict[str, Any]:
    return {
        "vendor_id": vendor,
        "region_id": f"r{region}",
        "server_id": f"type-{number}",
        "price": round(rng.uniform(0.004, 9), 4),
        "currency": "EUR" if vendor in {"hcloud", "ovh", "upcloud"} else "USD",
    }


def _scores(vendor: str, server: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    speed = rng.uniform(1, 100)
    at = f"202{rng.randint(4, 6)}-0{rng.randint(1, 8)}-1{rng.randint(0, 9)} 03:04:05.678901"
    for benchmark, configs in CONFIGS:
        is_web = benchmark.startswith(("static_web", "redis"))
        for config in configs:
            yield {
                "vendor_id": vendor,
                "server_id": server,
                "benchmark_id": benchmark,
                "config": json.dumps(config),
                "kernel_version": "6.8.0-1021",
                "score": speed * rng.uniform(0.9, 1.1) * 100,
                "note": "CPU usage (server/client usr+sys): 1.2/3.4." if is_web else None,
                "observed_at": at,
            }
