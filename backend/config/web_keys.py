"""`python -m backend.config.web_keys DIRECTORY`: the keys of the web process, as files to name in its settings.

A deployment gives CREDENTIAL_KEY to the process that runs this and keeps it from the web.
"""

import base64
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from backend.config import environment as env
from backend.config import keys


def write(directory: Path) -> None:
    """Write `credential_public_key`, `web_key` and `web_keys_previous`, each in one step."""
    credential_key = env.key_bytes("CREDENTIAL_KEY")
    public_key = keys.public_key(credential_key, stated=env.optional_key("CREDENTIAL_PUBLIC_KEY"))
    web_key, *previous = keys.web_keys(
        env.optional_key("WEB_KEY"),
        env.keys_bytes("WEB_KEYS_PREVIOUS"),
        credential_key=credential_key,
        credential_keys_previous=env.keys_bytes("CREDENTIAL_KEYS_PREVIOUS"),
    )
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(directory / "credential_public_key", [public_key])
    _write(directory / "web_key", [web_key])
    _write(directory / "web_keys_previous", previous)


def _write(path: Path, values: Sequence[bytes]) -> None:
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    # Ours alone from the first moment on.
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(",".join(base64.b64encode(value).decode() for value in values) + "\n")
    partial.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the directory for the files")
    try:
        write(Path(sys.argv[1]))
    except (ImproperlyConfigured, OSError) as error:
        sys.exit(str(error))
