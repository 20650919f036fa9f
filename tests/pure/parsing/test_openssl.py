"""Output of openssl speed for machines."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import openssl


@pytest.mark.parametrize(
    ("name", "variant", "value"),
    [
        ("1.1.1w-2", "2_processes", 311672832.00),
        ("3.0.19-2", "2_processes", 287715572.13),
        ("3.5.7-2", "2_processes", 144415525.49),
        ("3.0.19-single", "single", 271777792.00),  # the last of six sizes
    ],
)
def test_openssl_is_the_rate_of_all_processes_in_large_blocks(recorded, name, variant, value):
    (sample,) = openssl.parse(recorded(f"openssl-{name}"))
    assert (sample.metric, sample.variant) == ("openssl_sha256_bytes_per_s", variant)
    assert (sample.value, sample.unit) == (value, "bytes/s")
    assert sample.parameters["block_bytes"] == 16384


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("+F:25:sha256:287715572.13", "", "the rate of all is missing"),
        ("+F:25:sha256:287715572.13", "+F:25:sha256:287715572.1", "not a line of openssl"),
        ("+F:25:sha256:287715572.13", "+F:25:sha256:143568815.69", "not the sum"),
        ("+F:25:sha256:287715572.13", "+F:25:sha256:0.00", "0 bytes/s"),
        ("25:sha256", "25:md5", "md5 instead of sha256"),
        ("+H:16384", "+H:8192", "no rate for blocks of 16384 bytes"),
        ("+F:25:sha256:287715572.13", "+F:25:sha256:287715572.13\n" * 2, "one run at a time"),
        ("Got: +H:16384 from 1", "sha256   287715.57k", "not a line of openssl"),
    ],
)
def test_openssl_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded("openssl-3.0.19-2")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        openssl.parse(text.replace(old, new))
