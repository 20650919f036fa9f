"""What can go wrong with an answer on its way; each takes the place of the whole answer."""

import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler

from tests.fakes.price_servers import JSON, Fault, Reply, error, send

HTML = b"<!DOCTYPE html><html><body>Service unavailable</body></html>"


def too_many(retry_after: str = "7") -> Fault:
    headers = {"Retry-After": retry_after} if retry_after else {}
    return lambda handler, _: send(handler, Reply(b"{}", 429, headers=headers))


def broken(status: int = 500) -> Fault:
    return lambda handler, _: send(handler, Reply(b"{}", status))


def refused(message: str, status: int = 403) -> Fault:
    return lambda handler, _: send(handler, error(status, message))


def denied(message: str, code: str = "AccessDeniedException", status: int = 400) -> Fault:
    """A refusal in the forms of AWS: JSON of the price list, XML of EC2."""
    told = {"__type": code, "message": message}
    xml = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"

    def answer(handler: BaseHTTPRequestHandler, _: Reply) -> None:
        if handler.headers.get("X-Amz-Target"):
            send(handler, Reply(json.dumps(told).encode(), status, "application/x-amz-json-1.1"))
        else:
            send(handler, Reply(f"<Response>{xml}</Response>".encode(), status, "text/xml"))

    return answer


def web_page(status: int = 200) -> Fault:
    return lambda handler, _: send(handler, Reply(HTML, status, "text/html; charset=utf-8"))


def redirected(location: str) -> Fault:
    return lambda handler, _: send(handler, Reply(status=302, headers={"Location": location}))


def answered(body: bytes, kind: str = JSON) -> Fault:
    return lambda handler, _: send(handler, Reply(body, kind=kind))


def truncated(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    """The connection ends before the body does."""
    handler.send_response(200)
    handler.send_header("Content-Type", reply.kind)
    handler.send_header("Content-Length", str(len(reply.body)))
    handler.end_headers()
    handler.wfile.write(reply.body[: len(reply.body) // 2])
    handler.close_connection = True


def cut_short(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    """Half a document, sent as if it were the whole."""
    send(handler, Reply(reply.body[: len(reply.body) // 2], kind=reply.kind))


def slow(pause: threading.Event) -> Fault:
    """Half of the body, and the rest when the event is set."""

    def answer(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", reply.kind)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        half = len(reply.body) // 2
        handler.wfile.write(reply.body[:half])
        handler.wfile.flush()
        pause.wait(30)
        handler.wfile.write(reply.body[half:])

    return answer


def dripping(pieces: int, seconds: float) -> Fault:
    """An answer that never ends in time, though something always comes."""

    def answer(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", reply.kind)
        handler.send_header("Content-Length", str(len(reply.body) + pieces))
        handler.end_headers()
        for _ in range(pieces):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(seconds)
        handler.close_connection = True

    return answer


def bomb(size_bytes: int) -> Fault:
    """A small body that becomes a large one."""
    body = gzip.compress(b" " * size_bytes)
    return lambda handler, _: send(handler, Reply(body, headers={"Content-Encoding": "gzip"}))
