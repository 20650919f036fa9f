"""What cloud-init is told to do on a rented machine."""

import json

from backend.providers.cloud_config import user_data


def _config(**given):
    first, document = user_data(3_601, "private", "public", **given).split("\n", 1)
    assert first == "#cloud-config"
    return json.loads(document)


def test_machine_ends_itself_before_anything_else_is_done():
    config = _config()
    assert config["bootcmd"] == [
        ["systemd-run", "--no-block", "--on-active=3601s", "systemctl", "poweroff"]
    ]
    # Whole minutes, rounded up: the second end never comes before the first.
    assert config["runcmd"] == [["shutdown", "-P", "+61"]]


def test_machine_has_our_host_key_alone_and_no_passwords():
    config = _config()
    assert config["ssh_deletekeys"] is True
    assert config["ssh_keys"] == {"ed25519_private": "private", "ed25519_public": "public"}
    assert config["ssh_pwauth"] is False
    assert "users" not in config


def test_user_is_made_where_the_image_has_none():
    assert _config(user={"name": "rackrate"})["users"] == [{"name": "rackrate"}]
