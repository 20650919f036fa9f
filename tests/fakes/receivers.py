"""A web server and a mail server on loopback ports that keep what they are sent."""

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Hooks:
    """What came, and how to answer."""

    port: int = 0
    requests: list[Received] = field(default_factory=list)
    status: int = 200
    location: str = ""
    pause: threading.Event | None = None
    """Answer only once this is set."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"


@contextmanager
def web_server(context: ssl.SSLContext | None = None) -> Iterator[Hooks]:
    """Takes every POST; over TLS with a context."""
    hooks = Hooks()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            hooks.requests.append(Received(self.path, headers, body))
            if hooks.pause is not None:
                hooks.pause.wait(10)
            self.send_response(hooks.status)
            if hooks.location:
                self.send_header("Location", hooks.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    hooks.port = server.server_address[1]
    with _serving(server):
        yield hooks


@dataclass
class Mailbox:
    """Messages as they came over the wire."""

    port: int = 0
    messages: list[str] = field(default_factory=list)
    is_refusing: bool = False


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """Speaks as much SMTP (RFC 5321) as a sender needs."""
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 sink")
            while line := self.rfile.readline().decode().strip().upper():
                if line.startswith("QUIT"):
                    self._say("221 bye")
                    return
                if line.startswith("RCPT") and box.is_refusing:
                    self._say("550 no such mailbox")
                elif line == "DATA":
                    self._say("354 go on")
                    lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
                    box.messages.append("".join(lines))
                    self._say("250 kept")
                else:
                    self._say("250 ok")

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    box.port = server.server_address[1]
    with _serving(server):
        yield box


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
