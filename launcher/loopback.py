"""Ports that listen on this machine's loopback."""

import socket
import urllib.error
import urllib.request

from launcher.console import LauncherError

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        # Somebody may take it before it is used; who starts a service on it tries again.
        port: int = probe.getsockname()[1]
        return port


def claim_port(port: int) -> int:
    """The port itself, or a free one for 0; LauncherError when somebody listens on it."""
    if port == 0:
        return free_port()
    with socket.socket() as probe:
        # Connections of a server that just ended keep its port for a minute otherwise.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise LauncherError(
                f"Port {port} cannot be used ({error.strerror}); choose another one with --port N."
            ) from None
    return port


def answers(url: str) -> bool:
    """True if the web server answers at all; a redirect or a refusal is an answer too."""
    # A proxy of the environment does not reach the loopback of this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/healthz", timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
