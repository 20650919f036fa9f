import pytest

from backend.foundation import errors


def test_reason_lists_exactly_the_ten_of_the_design():
    assert [str(reason) for reason in errors.Reason] == [
        "quota",
        "capacity",
        "auth",
        "unsupported",
        "timeout",
        "interrupted",
        "unreachable",
        "disk_full",
        "rebooted",
        "bug",
    ]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.InvalidValue("price", "is negative"), "price: is negative"),
        (errors.InsufficientSamples(3, 1), "3 or more samples are needed, 1 found"),
        (errors.UnknownRate("THB"), "no exchange rate is known for THB"),
        (errors.ProbeError("dd", "no rate"), "dd: no rate"),
        (errors.ProbeError("dd", "no rate", 4), "dd: no rate (line 4)"),
    ],
)
def test_domain_error_says_in_one_line_what_is_wrong(error, text):
    assert isinstance(error, errors.DomainError)
    assert str(error) == text


def test_probe_error_keeps_its_parts_for_the_run():
    error = errors.ProbeError("fio", "truncated", 7)
    assert (error.tool, error.detail, error.line) == ("fio", "truncated", 7)


def test_driver_error_keeps_its_parts_for_the_step():
    error = errors.DriverError(errors.Reason.QUOTA, "too many machines", retryable=True)
    assert (error.reason, error.detail, error.retryable) == ("quota", "too many machines", True)
    assert str(error) == "quota: too many machines"
