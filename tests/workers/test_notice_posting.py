"""Posting to a web server that hangs up, or of which one address is dead: once, and never twice."""

import socket
import threading
from contextlib import contextmanager

import pytest

from backend.notifications.channels import posting
from backend.notifications.channels.channel import NotDelivered
from tests.fakes.receivers import web_server

NAME = "hooks.example"


@pytest.fixture
def leads_to(settings, monkeypatch):
    """Lets NAME lead to these addresses."""
    settings.WEBHOOK_ALLOW_PRIVATE = True

    def lead(*addresses):
        def resolved(host, port, *_, **__):
            assert host == NAME
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

        monkeypatch.setattr(posting.socket, "getaddrinfo", resolved)

    return lead


@contextmanager
def answering(listener, said):
    """One connection is read from, answered like this and ended."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            content = b""
            while not content.endswith(b"\r\n\r\n{}"):
                content += connection.recv(65_536)
            connection.sendall(said)

    listener.settimeout(5)
    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join()


def post(port):
    posting.post_json(f"http://{NAME}:{port}/hook", b"{}", {})


def test_dead_address_is_passed_over(leads_to):
    with web_server() as server:
        leads_to("127.0.0.9", "127.0.0.1")
        post(server.port)
        assert len(server.requests) == 1
        assert server.requests[0].headers["host"] == f"{NAME}:{server.port}"


def test_every_dead_address_is_said_and_few_are_tried(leads_to, monkeypatch):
    tried = []
    real = posting._post

    async def counted(target, address, *given):
        tried.append(address)
        return await real(target, address, *given)

    monkeypatch.setattr(posting, "_post", counted)
    leads_to(*(f"127.0.0.{number}" for number in range(11, 20)))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(NotDelivered, match=r"cannot connect to 127\.0\.0\.13"):
        post(port)
    assert len(tried) == posting.MAX_ADDRESSES


# What a server, or a proxy before it, may do once it has read the message.
@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200"])
def test_message_that_may_have_arrived_is_not_posted_to_another_address(
    leads_to, monkeypatch, said
):
    real, tried = posting._post, []

    async def counted(target, address, *given):
        tried.append(address)
        return await real(target, address, *given)

    monkeypatch.setattr(posting, "_post", counted)
    with socket.create_server(("127.0.0.1", 0)) as listener, answering(listener, said):
        leads_to("127.0.0.1", "127.0.0.1", "127.0.0.2")
        with pytest.raises(NotDelivered, match="RemoteProtocolError"):
            post(listener.getsockname()[1])
    assert tried == ["127.0.0.1"]
