"""One word for each architecture."""

import pytest

from backend.measure.architectures import architecture


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AMD64", "x86_64"),
        (" aarch64 ", "arm64"),
        ("arm64", "arm64"),
        ("riscv64", "riscv64"),
        ("", ""),
    ],
)
def test_architecture_has_one_name_whatever_it_is_called(name, expected):
    assert architecture(name) == expected
