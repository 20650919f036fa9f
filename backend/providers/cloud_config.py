"""Cloud-init of a machine that we rent: one host key that we made, and an end of its own."""

import json
import math
from typing import Any

# The only type that a machine gets: cloud-init deletes those of the image.
HOST_KEY_TYPE = "ssh-ed25519"


def user_data(
    lifetime_s: int, private_key: str, public_key: str, user: dict[str, Any] | None = None
) -> str:
    """User data of a machine with this host key, both halves in OpenSSH form. JSON is YAML, too.

    The end is armed before anything else, by a timer of systemd (`shutdown` needs a service that
    does not run that early, and whoever waits for the timer waits forever: it starts later), and
    once more by `shutdown` when the machine is up.
    """
    minutes = math.ceil(lifetime_s / 60)
    timer = ["systemd-run", "--no-block", f"--on-active={lifetime_s}s", "systemctl", "poweroff"]
    config = {
        "bootcmd": [timer],
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": private_key, "ed25519_public": public_key},
        "ssh_pwauth": False,
        "runcmd": [["shutdown", "-P", f"+{minutes}"]],
        **({"users": [user]} if user else {}),
    }
    return f"#cloud-config\n{json.dumps(config)}\n"
