"""Notices on their way: a real web server, a real mail server, and places that must not be reached."""

import datetime as dt
import email
import email.policy
import hashlib
import hmac
import json
import logging
import socket
import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import call_command

from backend.config.environment import Mail, mail
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.notifications.channels import CHANNELS, posting
from backend.notifications.channels.channel import Channel, Message
from backend.notifications.models import Notice, NoticeKind, Subscription
from backend.notifications.services.notices import notice_queue
from tests import factories
from tests.fakes.receivers import mail_server, web_server
from workers import tasks
from workers.notifications import delivery

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

SECRET = "correct horse battery"


@pytest.fixture
def hooks(settings):
    settings.WEBHOOK_ALLOW_PRIVATE = True
    with web_server() as server:
        yield server


@pytest.fixture
def mailbox(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_TIMEOUT = 5
    settings.DEFAULT_FROM_EMAIL = "Rackrate <bench@rackrate.example>"
    with mail_server() as server:
        settings.EMAIL_PORT = server.port
        yield server


def subscribed(address, channel="webhook", secret=SECRET) -> Subscription:
    return factories.subscription(
        channel=channel, address=address, secret=secret if channel == "webhook" else None
    )


def queue(key="run_failed:1", title="db1: the run failed\n(timeout)"):
    notice_queue(
        workspace=factories.workspace(),
        kind=NoticeKind.RUN_FAILED,
        key=key,
        document={"title": title, "detail": "no answer – ever", "url": "http://x/runs/1/"},
    )


def due_again():
    Notice.objects.filter(sent_at=None).update(next_due_at=clock.now() - dt.timedelta(seconds=1))


def resolving(monkeypatch, *addresses):
    """Let every name lead to these addresses; returns the names that were asked for."""
    asked = []

    def resolved(host, port, *args, **kwargs):
        asked.append(host)
        family = socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(posting.socket, "getaddrinfo", resolved)
    return asked


# --- webhooks -------------------------------------------------------------------------------------


def test_webhook_is_delivered_once_and_signed(hooks):
    subscribed(hooks.url)
    queue()
    queue()
    assert delivery.deliver_due() == 1
    assert delivery.deliver_due() == 0
    (request,) = hooks.requests
    assert request.path == "/hook?x=1"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["host"] == f"127.0.0.1:{hooks.port}"
    assert request.headers["x-rackrate-delivery"] == "run_failed:1"
    at, _, given = request.headers["x-rackrate-signature"].partition(",v1=")
    signed = f"{at.removeprefix('t=')}.".encode() + request.body
    assert given == hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert abs(int(at.removeprefix("t=")) - clock.now().timestamp()) < 60
    body = json.loads(request.body)
    assert set(body) == {"id", "kind", "title", "detail", "url", "at"}
    assert (body["id"], body["kind"]) == ("run_failed:1", "run_failed")
    row = Notice.objects.get()
    assert row.sent_at is not None
    assert (row.next_due_at, row.attempt) == (None, 1)


def test_webhook_is_tried_again_with_the_same_identity(hooks):
    subscribed(hooks.url)
    queue()
    hooks.status = 500
    assert delivery.deliver_due() == 0
    assert Notice.objects.get().last_error == "answered 500"
    assert delivery.deliver_due() == 0  # not before its time
    due_again()
    hooks.status = 204
    assert delivery.deliver_due() == 1
    assert Notice.objects.get().last_error == ""
    first, second = hooks.requests
    assert first.body == second.body
    assert first.headers["x-rackrate-delivery"] == second.headers["x-rackrate-delivery"]


def test_redirect_is_not_followed(hooks):
    with web_server() as other:
        hooks.status, hooks.location = 307, other.url
        subscribed(hooks.url)
        queue()
        assert delivery.deliver_due() == 0
        assert other.requests == []
    assert Notice.objects.get().last_error == "answered 307: redirects are not followed"


def test_receiver_that_does_not_answer_is_left_after_the_deadline(hooks, monkeypatch):
    monkeypatch.setattr(posting, "POST_S", 0.3)
    hooks.pause = threading.Event()
    subscribed(hooks.url)
    queue()
    delivery.deliver_due()
    hooks.pause.set()
    assert Notice.objects.get().last_error in {"no answer within 0.3 s", "ReadTimeout: "}


def test_receiver_that_refuses_the_connection_is_tried_again(hooks):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        subscribed(f"http://127.0.0.1:{unused.getsockname()[1]}/")
        queue()
        delivery.deliver_due()
    assert Notice.objects.get().last_error.startswith("cannot connect to 127.0.0.1")


def test_notices_of_a_disabled_subscription_stay(hooks):
    made = subscribed(hooks.url)
    queue()
    Subscription.objects.filter(pk=made.pk).update(is_enabled=False)
    delivery.deliver_due()
    assert hooks.requests == []
    assert Notice.objects.get().last_error == "the subscription is disabled"


def test_log_names_neither_secret_nor_address(hooks, caplog):
    subscribed(f"{hooks.url}&token=abcdef")
    queue()
    hooks.status = 500
    with caplog.at_level(logging.INFO):
        delivery.deliver_due()
        due_again()
        hooks.status = 200
        delivery.deliver_due()
    assert "answered 500" in caplog.text
    assert "abcdef" not in caplog.text
    assert SECRET not in caplog.text


def test_delivery_ends_when_asked_to_stop(hooks):
    subscribed(hooks.url)
    queue()
    assert delivery.deliver_due(may_continue=lambda: False) == 0
    assert Notice.objects.get().attempt == 0


# --- where a webhook may not go ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%eth0"],
        ["64:ff9b::a00:1"],
        ["93.184.215.14", "127.0.0.1"],
    ],
)
def test_name_that_leads_into_our_network_is_not_reached(settings, monkeypatch, addresses):
    settings.WEBHOOK_ALLOW_PRIVATE = False
    with web_server() as server:
        subscribed(f"https://hooks.example:{server.port}/")
        queue()
        resolving(monkeypatch, *addresses)
        delivery.deliver_due()
        assert server.requests == []
    assert "is not a public address" in Notice.objects.get().last_error


def test_name_is_looked_up_once_and_that_address_is_connected_to(settings, monkeypatch):
    settings.WEBHOOK_ALLOW_PRIVATE = False
    reached = []

    async def posted(target, address, body, headers):
        reached.append((target.host, address))
        return 200

    monkeypatch.setattr(posting, "_post", posted)
    asked = resolving(monkeypatch, "93.184.215.14")
    subscribed("https://hooks.example/")
    queue()
    assert delivery.deliver_due() == 1
    assert asked == ["hooks.example"]
    assert reached == [("hooks.example", "93.184.215.14")]


def test_address_stored_before_private_ones_were_forbidden_is_not_reached(hooks, settings):
    subscribed(hooks.url)
    queue()
    settings.WEBHOOK_ALLOW_PRIVATE = False
    delivery.deliver_due()
    assert hooks.requests == []
    assert Notice.objects.get().last_error == "an https address is needed"


def test_name_that_cannot_be_looked_up_is_said(settings, monkeypatch):
    settings.WEBHOOK_ALLOW_PRIVATE = True

    def missing(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(posting.socket, "getaddrinfo", missing)
    subscribed("https://hooks.example/")
    queue()
    delivery.deliver_due()
    assert "hooks.example cannot be looked up" in Notice.objects.get().last_error


def certificate(directory, name):
    """A self-signed certificate of a name, and the server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = clock.now()
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = directory / f"{name}.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return path, context


@pytest.mark.parametrize(("name", "sent"), [("hooks.example", 1), ("other.example", 0)])
def test_certificate_must_be_that_of_the_name(settings, monkeypatch, tmp_path, name, sent):
    settings.WEBHOOK_ALLOW_PRIVATE = True
    path, context = certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with web_server(context) as server:
        subscribed(f"https://hooks.example:{server.port}/")
        queue()
        resolving(monkeypatch, "127.0.0.1")
        assert delivery.deliver_due() == sent
        assert len(server.requests) == sent
        if sent:
            assert server.requests[0].headers["host"] == f"hooks.example:{server.port}"
        else:
            assert "certificate" in Notice.objects.get().last_error


# --- e-mail ---------------------------------------------------------------------------------------


def test_email_is_delivered_once_with_a_lasting_identity(mailbox):
    subscribed("ops@example.org", channel="email")
    queue()
    assert delivery.deliver_due() == 1
    assert delivery.deliver_due() == 0
    (text,) = mailbox.messages
    message = email.message_from_bytes(text.encode(), policy=email.policy.default)
    assert message["Subject"] == "[Rackrate] db1: the run failed (timeout)"
    assert message["To"] == "ops@example.org"
    assert message["From"] == "Rackrate <bench@rackrate.example>"
    assert message["Message-ID"].endswith("@rackrate.example>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert "no answer – ever\n\nhttp://x/runs/1/" in message.get_content().replace("\r\n", "\n")


def test_email_is_tried_again_when_the_server_refuses(mailbox):
    subscribed("ops@example.org", channel="email")
    queue()
    mailbox.is_refusing = True
    assert delivery.deliver_due() == 0
    assert "no such mailbox" in Notice.objects.get().last_error
    due_again()
    mailbox.is_refusing = False
    assert delivery.deliver_due() == 1


def test_email_waits_when_no_server_is_set_up_any_more(mailbox, settings):
    subscribed("ops@example.org", channel="email")
    queue()
    settings.EMAIL_HOST = ""
    delivery.deliver_due()
    assert "EMAIL_URL" in Notice.objects.get().last_error


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", Mail()),
        ("smtp://relay.example", Mail("relay.example", 25)),
        ("smtps://u%40x:p%2Fw@m.example", Mail("m.example", 465, "u@x", "p/w", is_tls=True)),
        (
            "smtp+starttls://u:p@m.example:2525",
            Mail("m.example", 2525, "u", "p", is_starttls=True),
        ),
    ],
)
def test_mail_server_is_read_from_its_address(monkeypatch, url, expected):
    monkeypatch.setenv("EMAIL_URL", url)
    assert mail("EMAIL_URL") == expected


@pytest.mark.parametrize("url", ["m.example", "http://m.example", "smtp://", "smtp://m:x"])
def test_mail_server_is_refused_when_its_address_is_none(monkeypatch, url):
    from django.core.exceptions import ImproperlyConfigured

    monkeypatch.setenv("EMAIL_URL", url)
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL must look like"):
        mail("EMAIL_URL")


# --- any channel ----------------------------------------------------------------------------------


class Pigeon(Channel):
    slug = "pigeon"
    label = "carrier pigeon"
    address_hint = "a loft"

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def check_address(self, address: str) -> None:
        if not address.startswith("loft "):
            raise InvalidValue("/address", "not a loft")

    def send(self, message: Message) -> None:
        self.messages.append(message)


def test_channel_of_one_class_delivers_when_it_is_registered(monkeypatch):
    pigeon = Pigeon()
    monkeypatch.setitem(CHANNELS, "pigeon", pigeon)
    with pytest.raises(InvalidValue, match="not a loft"):
        subscribed("ops@example.org", channel="pigeon")
    with pytest.raises(InvalidValue, match="carrier pigeon are not signed"):
        factories.subscription(channel="pigeon", address="loft 1", secret=SECRET)
    made = subscribed("loft 1", channel="pigeon")
    queue()
    assert delivery.deliver_due() == 1
    (message,) = pigeon.messages
    assert (message.key, message.address, message.secret) == ("run_failed:1", "loft 1", b"")
    assert message.document["title"].startswith("db1")
    assert made.get_channel_display() == "carrier pigeon"


def test_notice_of_a_channel_that_is_gone_stops_no_other(monkeypatch, hooks):
    with monkeypatch.context() as patched:
        patched.setitem(CHANNELS, "pigeon", Pigeon())
        subscribed("loft 1", channel="pigeon")
    subscribed(hooks.url)
    queue()
    assert delivery.deliver_due() == 1
    waiting = Notice.objects.get(sent_at=None)
    assert waiting.last_error == "'pigeon' is not one of email, webhook"


# --- who delivers ---------------------------------------------------------------------------------


def test_task_and_pump_deliver(hooks):
    subscribed(hooks.url)
    queue("run_failed:1")
    tasks.send_notices()
    queue("run_failed:2")
    call_command("pump", "--once")
    keys = [request.headers["x-rackrate-delivery"] for request in hooks.requests]
    assert keys == ["run_failed:1", "run_failed:2"]
