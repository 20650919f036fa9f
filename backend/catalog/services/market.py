"""The market's load form (fixtures/catalog/market, world), copied into the database as it is.

Tens of thousands of rows: PostgreSQL reads the files and joins them, no object is made of a row.
"""

import gzip
from pathlib import Path

from django.db import connection

from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS

# Temporary tables are of text: an empty cell is null.
REGIONS = """
INSERT INTO catalog_region (provider_id, code, name, country)
SELECT provider.id, region, location, coalesce(country_code, '')
FROM market_regions JOIN catalog_provider AS provider ON provider.slug = provider
ON CONFLICT DO NOTHING
"""
FIGURES = ("vcpu_count", "memory_bytes", "no_orders_on", *CREDIT_FIELDS)
OFFERS = f"""
INSERT INTO catalog_offer AS stored (
    id, created_at, slug, provider_id, region_id, name, kind, arch, cpu_model, vcpu_count,
    is_vcpu_derived, vcpu_kind, memory_bytes, disk_bytes, disk_kind, note, source, stated_on,
    no_orders_on, cpu_baseline_ratio, cpu_credit_price_usd_per_vcpu_hour, cpu_credit_default, is_demo
)
SELECT gen_random_uuid(), now(), slug, region.provider_id, region.id, row.name, kind,
    coalesce(arch, ''), coalesce(cpu_model, ''), vcpu_count::numeric, false,
    coalesce(vcpu_kind, ''), memory_bytes::bigint, disk_bytes::bigint, coalesce(disk_kind, ''),
    coalesce(note, ''), source, stated_on::date,
    no_orders_on::date, cpu_baseline_ratio::numeric,
    cpu_credit_price_usd_per_vcpu_hour::numeric, coalesce(cpu_credit_default, ''), true
FROM market_offers AS row JOIN (
    SELECT region.id, code, provider_id, slug AS seller
    FROM catalog_region AS region JOIN catalog_provider AS provider ON provider.id = provider_id
) AS region ON seller = row.provider AND code = row.region
ORDER BY slug
ON CONFLICT (slug) DO UPDATE
SET {", ".join(f"{name} = EXCLUDED.{name}" for name in FIGURES)}
WHERE stored.is_demo AND ({", ".join(f"stored.{name}" for name in FIGURES)})
    IS DISTINCT FROM ({", ".join(f"EXCLUDED.{name}" for name in FIGURES)})
"""  # noqa: S608 - names of our own columns only
PRICES = """
INSERT INTO catalog_priceobservation (
    id, created_at, offer_id, zone, operating_system, tenancy, purchase_model, term, upfront, plan,
    amount, currency, unit, monthly_cap, minimum_months, sustained_use, valid_from, valid_until,
    applies_to, tax_basis, included, basis, source, observed_at, raw_id, payload_sha256,
    is_published, doubt, reviewed_by, note
)
SELECT gen_random_uuid(), now(), offer.id, '', 'linux', 'shared', purchase_model,
    coalesce(term, ''), '', '', amount::numeric, currency, unit, monthly_cap::numeric,
    minimum_months::smallint, coalesce(sustained_use, ''), valid_from::date, valid_until::date,
    applies_to, tax_basis, included::jsonb, 'machine', row.source,
    observed_at::date::timestamp AT TIME ZONE 'UTC', '', '', true, '', '', ''
FROM market_prices AS row JOIN catalog_offer AS offer ON offer.slug = row.offer AND is_demo
ON CONFLICT DO NOTHING
"""


def market_load(folder: Path) -> int:
    """Copy the tables in a folder of the load form; the offers that were there and are corrected."""
    _copy(folder / "regions.csv.gz", "market_regions", REGIONS)
    corrected = _copy(folder / "offers.csv.gz", "market_offers", OFFERS)
    _copy(folder / "prices.csv.gz", "market_prices", PRICES)
    return corrected


def _copy(path: Path, table: str, statement: str) -> int:
    rows = gzip.decompress(path.read_bytes())
    header = rows[: rows.index(b"\n")].decode()
    columns = ", ".join(f"{name} text" for name in header.split(","))
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE {table} ({columns}) ON COMMIT DROP")
        with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(rows)
        cursor.execute(f"ANALYZE {table}")
        # A row that was there before has a last transaction.
        cursor.execute(
            f"WITH stored AS ({statement} RETURNING xmax = 0 AS is_new) "  # noqa: S608
            "SELECT count(*) FROM stored WHERE NOT is_new"
        )
        corrected: int = cursor.fetchone()[0]
        cursor.execute(f"DROP TABLE {table}")
    return corrected
