"""The stated spreads against published deviations and against machines measured here."""

import pytest

from backend.benchmarks.selectors.calibration import spreads_of_machines, spreads_of_sources
from backend.measure.metrics import metric
from tests import factories

pytestmark = pytest.mark.django_db
CPU = metric("coremark_score")


def published(of, cv, **given):
    factories.sample(
        of,
        1000.0,
        metric="coremark_score",
        variant=CPU.canonical_variant,
        source="published",
        published_sd_ratio=cv,
        **given,
    )


def test_published_type_counts_once_in_however_many_regions():
    for region in ("us-east-1", "eu-west-1"):
        published(factories.offer(f"m-{region}", name="m", vcpu_kind="dedicated"), 0.05)
    published(factories.offer("other", name="other", vcpu_kind="dedicated"), 0.01)
    (line,) = spreads_of_sources(CPU)
    assert (line.provider, line.vcpu_kind, line.stated_cv) == ("aws", "dedicated", 0.05)
    assert (round(line.median_cv, 9), line.largest_cv, line.expected.n_offers) == (0.03, 0.05, 2)
    assert line.expected.typical_share == pytest.approx((0.95 + 1) / 2, abs=1e-4)


def test_published_figures_without_a_spread_and_other_metrics_say_nothing():
    one = factories.offer("one")
    published(one, None)
    factories.sample(one, 5.0, source="published", published_sd_ratio=0.1)
    assert spreads_of_sources(CPU) == []


def test_shared_types_are_compared_with_the_spread_of_shared_ones():
    published(factories.offer("b", vcpu_kind="burstable"), 0.28)
    (line,) = spreads_of_sources(CPU)
    assert line.stated_cv == 0.28
    assert line.expected.further_share == pytest.approx(0.834, abs=1e-3)


def machine(of, values, **given):
    host = factories.host(of)
    run = factories.run(host)
    for repeat, value in enumerate(values):
        factories.sample(of, value, host=host, run=run, repeat=repeat, **given)


def test_each_machine_is_compared_with_the_others_of_its_offer():
    alike, lone = factories.offer("alike", vcpu_kind="dedicated"), factories.offer("lone")
    for values in ([100.0, 101.0], [102.0, 101.0], [200.0, 202.0]):
        machine(alike, values)
    machine(lone, [100.0, 101.0])
    (line,) = spreads_of_machines(metric("cmips_score"))
    # Two alike give an interval that the third is far outside of; with it, theirs is wide.
    assert (line.left_out.n_offers, line.left_out.n_machines) == (1, 3)
    assert line.left_out.n_inside == 2


def test_other_methods_and_disturbed_repeats_are_not_compared():
    of = factories.offer("mixed")
    machine(of, [100.0, 101.0], method_version="1")
    machine(of, [200.0, 202.0], method_version="2")
    machine(of, [50.0, 51.0], method_version="1", flags=["disturbed"])
    assert spreads_of_machines(metric("cmips_score")) == []
