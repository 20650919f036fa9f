"""Catalogs of any size, shaped as the world's are: types × regions × terms, made within the database.

A type costs the same in several regions and scores the same in all, so many offers are equal: what
tells them apart has to be exact. Ten prices an offer, eight of them current.
"""

from django.db import connection

from backend.accounts.models import Workspace
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import PriceFeed, Provider, Region
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock

PROVIDERS = 6
REGIONS = 30
# Of an offer.
PRICES = 10

OFFERS = """
INSERT INTO catalog_offer (
    id, created_at, slug, provider_id, region_id, name, kind, arch, cpu_model, vcpu_count, vcpu_kind,
    memory_bytes, disk_bytes, disk_kind, is_demo, note, source, cpu_credit_default
)
SELECT gen_random_uuid(), %(now)s, p.slug || '-type' || t || '-' || r.code, p.id, r.id, 'type' || t || '.' || c,
    (ARRAY['cloud', 'cloud', 'cloud', 'vps', 'dedicated'])[1 + t %% 5],
    (ARRAY['x86_64', 'x86_64', 'arm64'])[1 + t %% 3], 'Processor ' || t %% 40, c,
    (ARRAY['dedicated', 'shared', 'burstable', ''])[1 + t %% 4],
    c * 1073741824::bigint * (ARRAY[2, 4, 8])[1 + t %% 3],
    (ARRAY[NULL, 40000000000, 160000000000])[1 + t %% 3], 'ssd', false, '', 'https://example.com/types', ''
FROM catalog_provider AS p JOIN catalog_region AS r ON r.provider_id = p.id,
    generate_series(%(first)s, %(last)s) AS t, LATERAL (SELECT 2 ^ (t %% 8)) AS cpus (f),
    LATERAL (SELECT f::int) AS whole (c)
WHERE p.slug LIKE 'maker-%%'
"""
# Seven levels of prices over thirty regions, as the large providers have.
PRICED = """
INSERT INTO catalog_priceobservation (
    id, created_at, offer_id, zone, operating_system, tenancy, purchase_model, term, upfront, plan, amount,
    currency, unit, sustained_use, tax_basis, included, basis, observed_at, source, feed_id, raw_id,
    payload_sha256, is_published, doubt, reviewed_by, note
)
SELECT gen_random_uuid(), %(now)s, o.id, k.zone, 'linux', 'shared', k.model, k.term, k.upfront, k.plan,
    round(base * k.part * (1 + r.id %% 7 * 0.05), 6) + k.age * 0.000001,
    CASE o.provider_id %% 4 WHEN 0 THEN 'EUR' ELSE 'USD' END, 'hour', '', 'net', '{}', 'machine',
    %(now)s - k.age * interval '1 day', 'https://example.com/prices', f.id, '', '', true, '', '', ''
FROM catalog_offer AS o JOIN catalog_region AS r ON r.id = o.region_id
    JOIN catalog_pricefeed AS f ON f.provider_id = o.provider_id
    CROSS JOIN (VALUES
        ('on_demand', '', '', '', '', 1.0, 1), ('on_demand', '', '', '', '', 1.1, 30),
        ('on_demand', '', '', '', '', 1.2, 60), ('spot', '', '', '', 'a', 0.31, 0),
        ('reserved', '1y', 'none', 'standard', '', 0.63, 1),
        ('reserved', '1y', 'all', 'standard', '', 0.58, 1),
        ('reserved', '3y', 'none', 'standard', '', 0.43, 1),
        ('reserved', '3y', 'all', 'standard', '', 0.38, 1),
        ('savings', '1y', 'none', 'compute', '', 0.66, 1),
        ('savings', '3y', 'none', 'compute', '', 0.45, 1)
    ) AS k (model, term, upfront, plan, zone, part, age),
    LATERAL (SELECT substring(o.name FROM '^type(\\d+)')::int AS t) AS type,
    LATERAL (SELECT o.vcpu_count * (0.004 + (t * 7919 %% 5600) / 100000.0)) AS price (base)
WHERE NOT EXISTS (SELECT FROM catalog_priceobservation AS one WHERE one.offer_id = o.id)
"""
MEASURED = """
INSERT INTO benchmarks_sample (
    offer_id, metric, variant, repeat, value, unit, parameters, flags, source, source_note,
    published_sd_ratio, published_count, licence, method_version, measured_at, excluded_reason
)
SELECT o.id, 'cmips_score', 'all', 0, o.vcpu_count * (150 + t * 104729 %% 10007 / 100.0), 'CMIPS',
    '{}', '{}', 'published', 'https://example.com', 0.02, 30, '', '', %(now)s, ''
FROM catalog_offer AS o, LATERAL (SELECT substring(o.name FROM '^type(\\d+)')::int AS t) AS type
WHERE NOT EXISTS (SELECT FROM benchmarks_sample AS one WHERE one.offer_id = o.id)
"""
RATES = """
INSERT INTO catalog_exchangerate (date, currency, units_per_eur, source)
SELECT %(now)s::date - day, 'USD', 1.1, 'bench' FROM generate_series(0, 29) AS day
ON CONFLICT DO NOTHING
"""


def begin() -> None:
    """Providers, regions, feeds and rates of an empty catalog."""
    now = clock.now()
    Workspace.objects.get_or_create(slug="default", defaults={"name": "Default"})
    for number in range(PROVIDERS):
        maker = Provider.objects.create(slug=f"maker-{number}", name=f"Maker {number}")
        PriceFeed.objects.create(provider=maker, kind="bench", checked_at=now)
        Region.objects.bulk_create(
            Region(provider=maker, code=f"region-{place}") for place in range(REGIONS)
        )
    with connection.cursor() as cursor:
        cursor.execute(RATES, {"now": now})


def grow(first: int, last: int) -> None:
    """Add the types numbered from `first` to `last`, each in every region of every provider."""
    values = {"first": first, "last": last, "now": clock.now()}
    with connection.cursor() as cursor:
        cursor.execute(OFFERS, values)
        cursor.execute(PRICED, values)
        cursor.execute(MEASURED, values)
    prices_refresh()
    summaries_refresh()
    data_version_bump()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
