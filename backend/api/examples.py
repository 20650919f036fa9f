"""A body for each operation that takes one, as the description shows it to people and programs."""

from collections.abc import Mapping
from typing import Any

from backend.scenarios.calc.templates import TEMPLATES

JSON = "application/json"
HOST = "3f2b8c1e-6a57-4d0e-9c53-0d6f1c7e8a11"
CAMPAIGN = "9a4b1f60-2f0c-4f6e-8a39-5b1f0f6f2d22"
SCENARIO = dict(TEMPLATES["content"].document)
# By the name of the operation.
EXAMPLES: Mapping[str, Any] = {
    "array_estimate": {
        "schema": 1,
        "level": "raid5",
        "disks": 4,
        "disk": {"bytes": 4_000_000_000_000, "read_bytes_per_s": 160_000_000},
    },
    "campaigns_create": {"name": "November", "hosts": [HOST], "profile": "standard"},
    "contention_solve": {
        "schema": 1,
        "links": [{"name": "nas", "capacity_bytes_per_s": 125_000_000}],
        "flows": [{"name": "backup", "path": ["nas"]}, {"name": "build", "path": ["nas"]}],
    },
    "discounts_create": {"provider": "aws", "service": "compute", "percent": "12"},
    "feed_keys_create": {"view": "large-machines", "name": "sheet of procurement"},
    "hardware_create": {
        "name": "Rack 1",
        "currency": "EUR",
        "servers": 2,
        "items": [{"name": "board", "count": 2, "unit_price": "900.10", "watts": "80"}],
    },
    "hosts_create": {"name": "db1", "address": "db1.example", "username": "bench"},
    "hosts_import_create": {"format": "csv", "text": "address\ndb1.example\n"},
    "hosts_approve_create": {
        "fingerprint_sha256": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
    },
    "price_feeds_create": {"provider": "hetzner", "kind": "on_demand"},
    "price_feeds_review_create": {"accept": True, "reason": "the provider announced it"},
    "prices_create": {
        "offer": "hosty-ex44",
        "amount": "49.00",
        "currency": "EUR",
        "unit": "month",
        "reason": "offer of 2 November",
    },
    "prices_review_create": {"accept": True, "reason": "looked it up"},
    "requirements_solve": {"targets": {"cmips_score": "20000"}},
    "results_import_create": {
        "offer": "hosty-ex44",
        "tool": "dd",
        "text": "1024+0 records in\n1024+0 records out\n"
        "1073741824 bytes (1.1 GB) copied, 8.2 s, 131 MB/s\n",
    },
    "runs_create": {"host": HOST, "profile": "standard", "labels": {"commit": "1f3a9c2"}},
    "results_import_batch": {
        "results": [
            {
                "offer": "own-rack",
                "tool": "sysbench",
                "text": "sysbench 1.0.20 …",
                "parameters": None,
            }
        ]
    },
    "samples_mark": {
        "samples": [
            {"sample_id": 17, "excluded_reason": "a fan had failed"},
            {"sample_id": 18, "excluded_reason": None},
        ]
    },
    "samples_exclude_create": {"reason": "a fan had failed"},
    "scenarios_create": SCENARIO,
    "scenarios_freeze": {"note": "decided on 2 November"},
    "scenarios_simulate": SCENARIO,
    "schedules_create": {"campaign": CAMPAIGN, "cron": "30 2 * * *", "time_zone": "Europe/Berlin"},
    "subscriptions_create": {
        "channel": "webhook",
        "address": "https://hooks.example/rackrate",
        "secret": "a secret of some length",
        "kinds": ["regression"],
    },
    "tables_import": {
        "kind": "quotes",
        "text": "provider,model,monthly_net,currency,quoted_on\nHosty,EX44,49,EUR,2026-11-02\n",
        "dry_run": True,
    },
    "tokens_create": {"name": "ci", "scope": "run"},
    "views_create": {"name": "Large machines", "params": {"vcpu__gte": ["16"]}},
}


def add_examples(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The description with them (a hook of drf-spectacular)."""
    for methods in result["paths"].values():
        for operation in methods.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                operation["requestBody"]["content"][JSON]["example"] = example
    return result
