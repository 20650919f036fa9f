"""`images`: the base images that Dockerfile and docker-compose.yml name, and whether a digest pins each."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.paths import ROOT

FILES = ("Dockerfile", "docker-compose.yml")
# Status of `images` while one has no digest.
UNPINNED = 1
WITHIN_S = 60
# Stages of our own and images that we build have no tag.
_NAMED = re.compile(
    r"^((?:FROM (?:--platform=\S+ )?| +image: )([\w./-]+:[\w.-]+))(@sha256:[0-9a-f]{64})?(?=\s|$)",
    re.MULTILINE,
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def images(*, is_pinning: bool, root: Path = ROOT) -> int:
    """List them, each with its digest; with `is_pinning` ask the registries first and write it down."""
    texts = {root / name: (root / name).read_text() for name in FILES}
    if is_pinning:
        names = sorted({name for text in texts.values() for name in image_digests(text)})
        digests = {name: _registry_digest(name) for name in names}
        texts = {path: pin_images(text, digests) for path, text in texts.items()}
        for path, text in texts.items():
            path.write_text(text)
    digests = image_digests("\n".join(texts.values()))
    for name, digest in sorted(digests.items()):
        say(f"{name}  {digest or 'no digest'}")
    return 0 if all(digests.values()) else UNPINNED


def image_digests(text: str) -> dict[str, str]:
    """The digest of each image that a file names, "" for one without; of two lines the poorer one."""
    digests: dict[str, str] = {}
    for _, name, digest in _NAMED.findall(text):
        digests[name] = digest.removeprefix("@") if digests.get(name, digest) else ""
    return digests


def pin_images(text: str, digests: Mapping[str, str]) -> str:
    """The file with the digest of each image behind its tag, in place of an older one."""
    return _NAMED.sub(lambda match: f"{match[1]}@{digests[match[2]]}", text)


def _registry_digest(name: str) -> str:
    """Digest under the tag in the registry now: of all its platforms together."""
    if not shutil.which("docker"):
        raise LauncherError("Docker with buildx is needed, which asks the registries.")
    asking = ["docker", "buildx", "imagetools", "inspect", name, "--format", "{{json .Manifest}}"]
    try:
        done = subprocess.run(asking, capture_output=True, text=True, timeout=WITHIN_S, check=True)
        digest = json.loads(done.stdout)["digest"]
    except (subprocess.SubprocessError, ValueError, KeyError) as error:
        raise LauncherError(f"The registry of {name} does not say its digest: {error}") from None
    if not _DIGEST.fullmatch(digest):
        raise LauncherError(f"The registry of {name} answers with {digest!r} as its digest.")
    return str(digest)
