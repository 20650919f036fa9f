"""Reads an archive that somebody uploads: in memory, bounded, nothing by its stated name."""

import gzip
import hashlib
import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from backend.benchmarks.selectors.archive import MANIFEST, RUN
from backend.domain.errors import DomainError

# All of it is read into memory: these bound what a small upload can grow to.
MAX_PACKED_BYTES = 64 * 2**20
MAX_MEMBERS = 10_000
MAX_MEMBER_BYTES = 32 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
# Blocks of a tar file that hold no content: a header for each member, padding, the end.
TAR_BLOCKS_BYTES = 2 * 512 * MAX_MEMBERS + 2**20
# Nothing is written under a name of the archive, and whatever is no file of ours is refused.
NAME = re.compile(
    rf"{re.escape(RUN)}|{re.escape(MANIFEST)}"
    r"|(?:evidence|series)/[0-9]{3,6}-\w{1,20}-\w{0,40}-[0-9]{1,6}\.(?:txt|json)",
    re.ASCII,
)
# As `sha256sum` writes it: anybody can check an archive without us.
LISTED = re.compile(r"([0-9a-f]{64})  (\S{1,200})")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1
CHUNK = 2**20


class ArchiveRefused(DomainError):
    """The file is no archive of a run, is damaged, or was changed; nothing of it is kept."""


def members(content: bytes) -> dict[str, bytes]:
    """The files in a tar.gz or zip of a run, each with the checksum that its manifest lists.

    Raises ArchiveRefused naming what is wrong.
    """
    if len(content) > MAX_PACKED_BYTES:
        raise ArchiveRefused(f"{len(content)} bytes are too many, {MAX_PACKED_BYTES} the most")
    if content.startswith(b"\x1f\x8b"):
        unpack = _tar_members
    elif content.startswith(b"PK\x03\x04"):
        unpack = _zip_members
    else:
        raise ArchiveRefused("neither a .tar.gz nor a .zip file")
    members: dict[str, bytes] = {}
    total = 0
    try:
        for name, data in unpack(content):
            if name in members:
                raise ArchiveRefused(f"{name} is there twice")
            members[name] = data
            total += len(data)
            if len(members) > MAX_MEMBERS or total > MAX_TOTAL_BYTES:
                raise ArchiveRefused(f"more than {MAX_MEMBERS} files or {MAX_TOTAL_BYTES} bytes")
    # Whatever a damaged file makes the readers stumble over.
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        struct.error,
    ) as error:
        raise ArchiveRefused(f"the file is cut off or damaged: {error}") from error
    _check_manifest(members)
    return members


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than the most an archive may hold."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        super().__init__()
        self.packed = packed
        self.left = MAX_TOTAL_BYTES + TAR_BLOCKS_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self.packed.read(CHUNK if size < 0 else min(size, CHUNK))
        self.left -= len(data)
        if self.left < 0:
            raise ArchiveRefused(f"more than {MAX_TOTAL_BYTES} bytes when unpacked")
        return data


def _tar_members(content: bytes) -> Iterator[tuple[str, bytes]]:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
        stream = _Bounded(packed)
        # Forwards only, so that the bound sees every byte that is unpacked.
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
                    raise ArchiveRefused(f"{member.name[:100]!r} is not a plain file")
                _check_name(member.name, member.size)
                file = archive.extractfile(member)
                data = file.read() if file else b""
                if len(data) != member.size:
                    raise EOFError(f"{member.name} ends early")
                yield member.name, data
        # A tar file ends before its gzip stream does.
        while stream.read():  # to its end, where the checksum of the whole is
            pass


def _zip_members(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MAX_TOTAL_BYTES:
            raise ArchiveRefused(f"more than {MAX_TOTAL_BYTES} bytes when unpacked")
        for entry in entries:
            _check_name(entry.filename, entry.file_size)
            if entry.flag_bits & ENCRYPTED or entry.compress_type not in METHODS:
                raise ArchiveRefused(f"{entry.filename} is encrypted, or packed in an unusual way")
            with archive.open(entry) as file:
                # The stated size may be a lie, so reading stops by itself.
                data = file.read(MAX_MEMBER_BYTES + 1)
            if len(data) != entry.file_size:
                raise EOFError(f"{entry.filename} is not as long as stated")
            yield entry.filename, data


def _check_name(name: str, size: int) -> None:
    if not NAME.fullmatch(name):
        raise ArchiveRefused(f"{name[:100]!r} is not a file of a run's archive")
    if size > MAX_MEMBER_BYTES:
        raise ArchiveRefused(f"{name} has {size} bytes, {MAX_MEMBER_BYTES} are the most")


def _check_manifest(members: Mapping[str, bytes]) -> None:
    for name in (MANIFEST, RUN):
        if name not in members:
            raise ArchiveRefused(f"{name} is missing")
    listed: dict[str, str] = {}
    for number, line in enumerate(
        members[MANIFEST].decode(errors="replace").removesuffix("\n").split("\n"), start=1
    ):
        entry = LISTED.fullmatch(line)
        if entry is None or entry[2] in listed:
            raise ArchiveRefused(f"{MANIFEST}, line {number}: {line[:100]!r}")
        listed[entry[2]] = entry[1]
    for name, content in sorted(members.items()):
        if name == MANIFEST:
            continue
        # Checked both ways: nothing may be added beside the manifest, and nothing be missing.
        if name not in listed:
            raise ArchiveRefused(f"{name} is not in {MANIFEST}")
        if hashlib.sha256(content).hexdigest() != listed.pop(name):
            raise ArchiveRefused(f"{name} does not match its checksum: it was changed")
    if listed:
        raise ArchiveRefused(f"{min(listed)} is listed in {MANIFEST} and missing")
