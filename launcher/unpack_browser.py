"""Unpacks the browser's npm package; run by the project's Python because it needs the brotli package."""

import io
import sys
import tarfile
from pathlib import Path

import brotli

PARTS = {"al2023.tar.br": "al2023", "fonts.tar.br": "."}  # archive -> folder it goes into


def unpack(folder: Path) -> None:
    """Write chromium.bin, al2023/ (libraries) and fonts/ into the folder that holds node_modules."""
    packed = folder / "node_modules/@sparticuz/chromium/bin"
    program = folder / "chromium.bin"
    program.write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
    program.chmod(0o755)
    for archive, place in PARTS.items():
        content = brotli.decompress((packed / archive).read_bytes())
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            # The archive's hash is in package-lock.json. Python 3.11.2 has no `filter` to pass here.
            tar.extractall(folder / place)  # noqa: S202
    libraries = next(folder.rglob("libnss3.so"), None)
    if libraries is None:
        raise SystemExit("the browser package holds no libraries where they are expected")


if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
