"""The headless browser of the tests: chromium from PATH, else one unpacked from npm without root."""

import ctypes
import shutil
import tarfile
from pathlib import Path

from launcher import node
from launcher.paths import LOCKS, TOOLS

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OWN = TOOLS / "browser"
PROGRAM = OWN / "chromium.bin"
WRAPPER = OWN / "chromium"
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{folder}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{folder}/font-cache</cachedir>
</fontconfig>
"""
WRAPPER_SCRIPT = """#!/bin/sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
export LD_LIBRARY_PATH="$here/al2023/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FONTCONFIG_PATH="$here"
exec "$here/chromium.bin" "$@"
"""
# Node has a decoder for the packed files, Python's standard library has none.
UNPACK_SCRIPT = """
const [, source, target] = process.argv;
require("fs").writeFileSync(target, require("zlib").brotliDecompressSync(require("fs").readFileSync(source)));
"""
PARTS = {
    "chromium": None,
    "al2023.tar": "al2023",
    "fonts.tar": ".",
}  # file -> folder to unpack it into


def from_path() -> str | None:
    """A browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    """Fetch and unpack the browser: executable, its libraries, one font."""
    # What an interrupted set-up left is never completed: nobody knows how far it was.
    shutil.rmtree(OWN, ignore_errors=True)
    OWN.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LOCKS / "browser" / name, OWN / name)
    node.npm_ci("browser", OWN)
    _unpack(OWN / "node_modules/@sparticuz/chromium/bin")
    (OWN / "fonts.conf").write_text(FONTS_CONF.format(folder=OWN))
    WRAPPER.write_text(WRAPPER_SCRIPT)
    WRAPPER.chmod(0o755)


def _unpack(packed: Path) -> None:
    for name, folder in PARTS.items():
        node.run("browser", ["--eval", UNPACK_SCRIPT, str(packed / f"{name}.br"), str(OWN / name)])
        if folder is not None:
            with tarfile.open(OWN / name) as tar:
                # The archive's hash is in package-lock.json. Python 3.11.2 has no `filter` to pass here.
                tar.extractall(OWN / folder)  # noqa: S202
            (OWN / name).unlink()
    (OWN / "chromium").rename(PROGRAM)
    PROGRAM.chmod(0o755)
    # Packed and unpacked it would take twice the space.
    shutil.rmtree(OWN / "node_modules")


def environment() -> dict[str, str]:
    """Environment of the browser tests."""
    return {"CHROMIUM_PATH": from_path() or str(WRAPPER), **_driver_environment()}


def _driver_environment() -> dict[str, str]:
    """Playwright's own Node needs libatomic; where that is absent it is set to use ours."""
    try:
        ctypes.CDLL("libatomic.so.1")
    except OSError:
        return {"PLAYWRIGHT_NODEJS_PATH": node.node()}
    return {}
