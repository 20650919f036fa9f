"""Results of a local disk of a rented machine."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import fio_local

RECORDED = "fio-local-3.33"


def test_local_disk_is_a_variant_of_its_own_and_names_the_disk(recorded):
    samples = fio_local.parse(recorded(RECORDED))
    assert [(sample.metric, sample.variant) for sample in samples] == [
        ("disk_rand_read_iops", "local_4k_qd32"),
        ("disk_rand_read_p99_ns", "local_4k_qd32"),
    ]
    for sample in samples:
        # 937,500,000,000 bytes are 873.1 GiB.
        assert sample.parameters["volume"] == {
            "type": "Amazon EC2 NVMe Instance Storage",
            "size_gib": 873,
        }
        assert sample.parameters["local_disks"] == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("volume_bytes 937500000000", "volume_bytes -1", "volume_bytes '-1'"),
        ("volume_count 1", "volume_count one", "volume_count 'one'"),
        ("volume_count 1\n", "", "volume_count missing"),
        (
            "=== end conditions rc=0\n",
            "=== end conditions rc=0\n=== x\n=== end x rc=0\n",
            "not the",
        ),
    ],
)
def test_local_disk_is_refused_when_its_conditions_are_others(recorded, old, new, why):
    text = recorded(RECORDED)
    assert old in text
    with pytest.raises(ProbeError, match=why):
        fio_local.parse(text.replace(old, new, 1))
