"""Secrets planted on purpose, and every place where one of them might turn up."""

import base64
import gzip
import html
import json
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import redis
from django.db import connection

LOOK_S = 0.03
RAW = {"disable_decoding": True, "disconnect_on_error": False}
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"


def forms(secret: str) -> set[bytes]:
    """The ways in which a text may be written down, in bytes."""
    raw = secret.encode()
    texts = {
        secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret),
        quote(secret, safe=""), quote_plus(secret), raw.hex(), raw.hex().upper(),
    }  # fmt: skip
    return {text.encode() for text in texts} | set(_base64(raw))


def _base64(raw: bytes) -> Iterator[bytes]:
    """Inside of any longer base64 text: what the neighbours on both sides do not change."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw)
        inner = whole[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


@dataclass
class Net:
    """Canaries by name, and what was seen by place."""

    canaries: dict[str, str] = field(default_factory=dict)
    seen: dict[str, list[bytes]] = field(default_factory=dict)

    def plant(self, name: str, secret: str) -> str:
        """Remember the secret under a name."""
        assert len(secret) >= 12, name
        self.canaries[name] = secret
        return secret

    def see(self, place: str, content: bytes) -> None:
        """Something was written there, sent or shown."""
        self.seen.setdefault(place, []).append(content)

    def caught(self) -> list[str]:
        """`place: canary` for each that turned up somewhere."""
        whole = {place: b"\n".join(parts) for place, parts in self.seen.items()}
        return sorted(
            f"{place}: {name}"
            for name, secret in self.canaries.items()
            for form in forms(secret)
            for place, content in whole.items()
            if form in content
        )


# --- places ---------------------------------------------------------------------------------------


def database_cells() -> Iterator[bytes]:
    """Every row of every table as text, and every value of bytes as it is and unpacked."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t.*, t::text FROM "{table}" AS t')
            for row in cursor.fetchall():
                for value in row:
                    yield from _cell(value)


def _cell(value: object) -> Iterator[bytes]:
    if isinstance(value, bytes | memoryview):
        content = bytes(value)
        yield content
        with suppress(OSError, EOFError, zlib.error):
            yield gzip.decompress(content)
    else:
        yield str(value).encode()


def database_files() -> Iterator[bytes]:
    """The files of the cluster, its log of changes included."""
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
        cursor.execute("SHOW data_directory")
        (directory,) = cursor.fetchone()
    for path in Path(directory).rglob("*"):
        if path.is_file() and not path.is_symlink():
            with suppress(FileNotFoundError):
                yield path.read_bytes()


def broker_values(url: str) -> Iterator[bytes]:
    """Every key of every database of the broker with what it holds."""
    reads: Mapping[bytes, str] = {
        b"string": "get", b"hash": "hgetall", b"set": "smembers",
    }  # fmt: skip
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter():
            kind = client.type(key)
            if kind == b"list":
                value = client.lrange(key, 0, -1)
            elif kind == b"zset":
                value = client.zrange(key, 0, -1, withscores=True)
            else:
                value = getattr(client, reads[kind])(key)
            yield key
            yield from _flat(value)


def _flat(value: Any) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        for one in value:
            yield from _flat(one)
    else:
        yield value if isinstance(value, bytes) else str(value).encode()


def file_contents(directories: Iterable[Path]) -> Iterator[bytes]:
    """Everything that lies below the directories."""
    for directory in directories:
        for path in directory.rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    yield path.read_bytes()


# --- what passes by -------------------------------------------------------------------------------


@contextmanager
def overheard(net: Net, url: str) -> Iterator[None]:
    """Meanwhile every command to the broker is seen, and what the processes of this machine show
    of themselves."""
    done = threading.Event()
    client = redis.Redis.from_url(url, socket_timeout=0.2)
    threads = [
        threading.Thread(target=_listen, args=(net, client, done)),
        threading.Thread(target=_watch, args=(net, done)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
        client.close()


def _listen(net: Net, client: "redis.Redis[bytes]", done: threading.Event) -> None:
    with client.monitor() as monitor:
        while not done.is_set():
            with suppress(redis.TimeoutError):
                # As it comes over the wire: the client's own reader fails on bytes.
                net.see("messages", monitor.connection.read_response(**RAW))


def _watch(net: Net, done: threading.Event) -> None:
    known: set[bytes] = set()
    while not done.wait(LOOK_S):
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                shown = (process / "cmdline").read_bytes()
                if shown not in known:
                    known.add(shown)
                    net.see("arguments", shown)


@contextmanager
def indiscreet_server() -> Iterator[str]:
    """A provider's interface that refuses everybody and quotes what it was sent; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = " ".join([self.path, *map(str, self.headers.values()), body.decode("latin-1")])
            is_aws = "AWS4-HMAC" in said
            answer = _as_xml(said) if is_aws else json.dumps(
                {"error": {"code": "unauthorized", "message": said}}
            )  # fmt: skip
            self.send_response(401)
            self.send_header("Content-Type", "text/xml" if is_aws else "application/json")
            self.send_header("Content-Length", str(len(answer.encode())))
            self.end_headers()
            self.wfile.write(answer.encode())

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _as_xml(said: str) -> str:
    message = html.escape(re.sub(r"[^ -~]", "?", said))
    return (
        "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidClientTokenId</Code>"
        f"<Message>{message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"
    )
