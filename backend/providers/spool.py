"""A provider's answer, as it came: named parts in temporary files, small ones in memory."""

import codecs
import gzip
import hashlib
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, cast

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import answers

# Most answers are some pages of a hundred kilobytes; offer files of AWS are hundreds of megabytes.
IN_MEMORY_BYTES = 4 * 2**20
PIECE_BYTES = 1 << 16
# Compressed. It becomes one bytea value, which PostgreSQL and its driver hold in memory several times over.
LARGEST_PAYLOAD_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Payload:
    """A whole answer as it came, as one archive: the hash and size of the tar file, and that file
    compressed.

    The same answer makes the same payload. `raw_gzip` is None where it is too large to be stored.
    """

    sha256: str
    size_bytes: int
    raw_gzip: bytes | None


class Spool:
    """Parts of an answer in the order in which they came. Close it: that frees the files.

    A part is a page of a kind, named as in `types-00001.json`.
    """

    def __init__(self, on_read: Callable[[str, int], None] = lambda name, size: None) -> None:
        """`on_read` is called for each piece that is read, with its part's name and its bytes."""
        self._parts: dict[str, BinaryIO] = {}
        self.on_read = on_read

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._parts.values():
            file.close()

    def page(self, kind: str) -> BinaryIO:
        """A new, empty part: the next page of its kind."""
        # Closed by __exit__.
        file = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115
        part = cast("BinaryIO", file)
        self._parts[f"{kind}-{len(self._of(kind)) + 1:05}.json"] = part
        return part

    def move_to_disk(self, kind: str) -> str:
        """The name of the newest page, which takes no memory from now on: many small files are as
        much as a large one."""
        name = self._of(kind)[-1]
        cast("SpooledTemporaryFile[bytes]", self._parts[name]).rollover()
        return name

    def pages(self, kind: str) -> Iterator[str]:
        """The texts of the pages of a kind, one at a time. Raises InvalidValue for no UTF-8."""
        return ("".join(self._pieces(name)) for name in self._of(kind))

    def pieces(self, kind: str) -> Iterator[str]:
        """The only page of a kind in pieces. Raises InvalidValue for no UTF-8."""
        return self._pieces(self._of(kind)[0])

    def _pieces(self, name: str) -> Iterator[str]:
        file = self._parts[name]
        file.seek(0)
        # Incremental, as a piece may end within a character.
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while piece := file.read(PIECE_BYTES):
                self.on_read(name, len(piece))
                yield decoder.decode(piece)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise InvalidValue(name, "not UTF-8") from error

    def content(self, kind: str) -> bytes:
        """The only page of a kind as it came."""
        file = self._parts[self._of(kind)[0]]
        file.seek(0)
        return file.read()

    def last(self, kind: str) -> dict[str, Any]:
        """The JSON object that the newest page of a kind is, to find the next one."""
        name = self._of(kind)[-1]
        text = "".join(self._pieces(name))
        return answers.mapping(answers.document(text, where=name), where=name)

    def payload(self) -> Payload:
        """All parts, to be kept."""
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as packed:
            # No time in the header, nor in the entries' (TarInfo's is 0): equal answers have equal bytes.
            with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped:
                hashed = _Hashed(zipped)
                # As a stream: the archive is hashed while it is written, and never as a whole in memory.
                with tarfile.open(fileobj=cast("IO[bytes]", hashed), mode="w|") as archive:
                    for name, file in self._parts.items():
                        entry = tarfile.TarInfo(name)
                        entry.size = file.seek(0, 2)
                        file.seek(0)
                        archive.addfile(entry, file)
            is_kept = packed.seek(0, 2) <= LARGEST_PAYLOAD_BYTES
            packed.seek(0)
            raw = packed.read() if is_kept else None
            return Payload(hashed.sha256.hexdigest(), hashed.size_bytes, raw)

    def _of(self, kind: str) -> list[str]:
        """The parts of a kind; no kind's name begins with another one's and a hyphen."""
        return [name for name in self._parts if name.startswith(f"{kind}-")]


class _Hashed:
    """Counts and hashes what is written on to the file behind it."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)
