"""Base images by digest: what is named, what is written, and what is said where nobody can be asked."""

import io
import shutil
from pathlib import Path

import pytest

from launcher import images
from launcher.console import LauncherError, console
from launcher.paths import ROOT

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
OTHER = f"sha256:{'f' * 64}"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(console, "stream", stream)
    return stream


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in images.FILES:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_every_base_image_is_pinned_behind_its_tag(checkout: Path, said: io.StringIO) -> None:
    assert images.images(is_pinning=False, root=checkout) == images.UNPINNED
    assert "postgres:18-bookworm  no digest\n" in said.getvalue()
    for name in images.FILES:
        path = checkout / name
        text = path.read_text()
        names = images.image_digests(text)
        assert len(names) >= 3
        path.write_text(images.pin_images(text, dict.fromkeys(names, DIGEST)))
        # Nothing else changed, and pinning anew replaces what stands there.
        assert path.read_text().replace(f"@{DIGEST}", "") == text
        assert images.pin_images(path.read_text(), dict.fromkeys(names, OTHER)).count(DIGEST) == 0
    assert images.images(is_pinning=False, root=checkout) == 0


def test_images_of_our_own_need_no_digest() -> None:
    text = "FROM packages AS application\nservices:\n  web:\n    image: rackrate\n"
    assert images.image_digests(text) == {}


def test_image_counts_as_unpinned_while_one_line_lacks_its_digest() -> None:
    line = "FROM python:3.11-slim-bookworm"
    for lines in ([line, f"{line}@{DIGEST}"], [f"{line}@{DIGEST} AS a", f"{line} AS b"]):
        assert images.image_digests("\n".join(lines)) == {"python:3.11-slim-bookworm": ""}


def test_nothing_is_written_where_nobody_can_be_asked(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(LauncherError, match="Docker with buildx is needed"):
        images.images(is_pinning=True, root=checkout)
    for name in images.FILES:
        assert (checkout / name).read_text() == (ROOT / name).read_text()
