"""Objects that one process has made, for the others of this machine: a file each in one folder.

Whatever is array in them is not read but mapped, so that all processes hold the same memory. A file
says by a code, made with the key of this installation, that it is one of ours and whole; any other
one counts as none.
"""

import fcntl
import hashlib
import hmac
import mmap
import os
import pickle  # what is read with it was verified before
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from django.conf import settings

CODE_BYTES = hashlib.sha256().digest_size
ALIGNED = 64
READ_BYTES = 1_000_000
# Of all files together; those that were longest not opened go.
MOST_BYTES = 200_000_000
MOST_FILES = 200


class SharedFiles:
    """The objects of one folder by name; without a folder nothing is shared."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    @contextmanager
    def lock_out_others(self, name: str) -> Iterator[None]:
        """Others of this machine that want to make the object wait."""
        with ExitStack() as locked:
            # A folder that cannot be written shares nothing, and stops nobody.
            with suppress(OSError):
                if self._directory is not None:
                    self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                    # A few for all names; locked by the open file, so that a process that dies
                    # holds up nobody.
                    path = self._directory / f"{self._path(name).name[0]}.lock"
                    fcntl.flock(locked.enter_context(path.open("wb")), fcntl.LOCK_EX)
            yield

    def load(self, name: str, known: Mapping[str, Any]) -> Any:
        """The object, None without a whole one of ours; `known` are objects that it refers to."""
        if self._directory is None:
            return None
        path = self._path(name)
        try:
            with path.open("rb") as file:
                code, read = file.read(CODE_BYTES), iter(lambda: file.read(READ_BYTES), b"")
                # Read and not mapped: of what is mapped only what is looked at takes memory.
                if not hmac.compare_digest(code, _code(name, read)):
                    return None
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                # Nor is what lies beside it.
                mapped.madvise(mmap.MADV_RANDOM)
            os.utime(path)
        # A file without a byte cannot be mapped.
        except (OSError, ValueError):
            return None
        try:
            return _FileReader(memoryview(mapped)[CODE_BYTES:], known).load()
        # It belongs to another one than those that are known.
        except LookupError:
            return None

    def save(self, name: str, value: Any, known: Mapping[str, Any]) -> None:
        """Keep the object; those of `known` are only referred to. A full disk keeps nothing."""
        if self._directory is None:
            return
        content = _content(value, known)
        with suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._directory, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_code(name, [content]))
                    file.write(content)
                # In one step: whoever has opened the old one keeps it.
                Path(temporary).replace(self._path(name))
            finally:
                Path(temporary).unlink(missing_ok=True)
            self._remove_oldest()

    def _path(self, name: str) -> Path:
        directory = self._directory or Path()
        return directory / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.table"

    def _remove_oldest(self) -> None:
        """Remove what was longest not opened, beyond what may be kept."""
        directory = self._directory or Path()
        # Others may remove some of them meanwhile; those of processes that died are among them.
        files = [(file.stat(), file) for file in directory.glob("*.*") if file.suffix != ".lock"]
        files.sort(key=lambda entry: entry[0].st_mtime, reverse=True)
        total = 0
        for number, (state, file) in enumerate(files):
            total += state.st_size
            if number >= MOST_FILES or (number and total > MOST_BYTES):
                file.unlink(missing_ok=True)


# --- what a file holds: its code, where each array lies, the object, the arrays -------------------


def _code(name: str, content: Iterable[bytes]) -> bytes:
    key = hmac.digest(settings.SECRET_KEY.encode(), f"{_program()} {name}".encode(), "sha256")
    code = hmac.new(key, digestmod="sha256")
    for part in content:
        code.update(part)
    return code.digest()


@cache
def _program() -> str:
    """Key of the program, whose objects no other version reads."""
    files = sorted((settings.BASE_DIR / "backend").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class _FileWriter(pickle.Pickler):
    def __init__(self, file: BytesIO, known: Mapping[str, Any], arrays: list[memoryview]) -> None:
        super().__init__(file, 5, buffer_callback=lambda array: arrays.append(array.raw()))
        self._names = {id(value): name for name, value in known.items()}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value))


def _content(value: Any, known: Mapping[str, Any]) -> bytes:
    arrays: list[memoryview] = []
    pickled = BytesIO()
    _FileWriter(pickled, known, arrays).dump(value)
    parts = (pickled.getbuffer(), *arrays)
    sizes = (part.nbytes for part in parts)
    out = bytearray(struct.pack(f"<{1 + len(parts)}Q", len(parts), *sizes))
    for part in parts:
        out += b"\0" * (-(len(out) + CODE_BYTES) % ALIGNED)
        out += part
    return bytes(out)


class _FileReader(pickle.Unpickler):
    def __init__(self, content: memoryview, known: Mapping[str, Any]) -> None:
        (count,) = struct.unpack_from("<Q", content)
        sizes = struct.unpack_from(f"<{count}Q", content, 8)
        at, parts = 8 * (1 + count), []
        for size in sizes:
            at += -(at + CODE_BYTES) % ALIGNED
            parts.append(content[at : at + size])
            at += size
        super().__init__(BytesIO(parts[0]), buffers=parts[1:])
        self._known = known

    def persistent_load(self, name: str) -> Any:
        return self._known[name]
