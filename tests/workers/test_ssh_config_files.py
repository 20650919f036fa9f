"""What an ssh config says of a machine; `ssh -G` is the oracle."""

import getpass
import random
import shutil
import subprocess

import pytest

from workers.remote.ssh_config import SshConfigFault, destination, login
from workers.remote.ssh_config_files import SshSettings

BASTION = "Host bastion\n HostName 198.51.100.10\n User = ops\n Port=2222\n"
EXAMPLE = """# an example
Include conf.d/*.conf

Host bastion
    HostName 198.51.100.10
    User = ops
    Port=2222

Host db-* !db-test
    HostName %h.internal.example
    ProxyCommand ssh -W %h:%p bastion
    User "db admin"

Host db-test
    HostName 192.0.2.44  # the one for tests
    ProxyJump none

Match host web-1
    User www
    ProxyJump bastion

Host web-1
    HostName 192.0.2.21
    User ignored

Host *
    User root
    ProxyJump bastion
    IdentityFile ~/.ssh/id_bench_%h
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    (tmp_path / ".ssh" / "conf.d").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def read(home):
    def read(text, place="x"):
        path = home / "config"
        path.write_text(text)
        return login(destination(place), config=path, environ={}, home=home)

    return read


@pytest.mark.parametrize(
    ("alias", "found"),
    [
        ("bastion", ("198.51.100.10", "ops", 2222, ())),
        ("db-7", ("db-7.internal.example", "db admin", 22, ("bastion",))),
        ("db-test", ("192.0.2.44", "root", 22, ())),
        ("web-1", ("192.0.2.21", "www", 22, ("bastion",))),
        ("only-here", ("192.0.2.99", "solo", 22, ("bastion",))),
        ("other", ("other", "root", 22, ("bastion",))),
    ],
)
def test_login_follows_patterns_match_and_include(read, home, alias, found):
    (home / ".ssh/conf.d/10.conf").write_text("Host only-here\n HostName 192.0.2.99\n User solo\n")
    (home / ".ssh" / f"id_bench_{found[0]}").touch()
    there = read(EXAMPLE, alias)
    assert (there.address, there.username, there.port, there.jumps) == found
    assert [path.name for path in there.identities] == [f"id_bench_{found[0]}"]
    assert there.is_configured is (alias != "other")


@pytest.mark.parametrize(
    ("command", "jump"),
    [
        ("ssh -W %h:%p gate", "gate"),
        ("exec /usr/bin/ssh -q -l hop -p 2200 gate -W [%h]:%p", "hop@gate:2200"),
        ("ssh -W %h:%p %r@gate-%n", "root@gate-x"),
    ],
)
def test_command_that_only_jumps_is_a_jump(read, command, jump):
    assert read(f"Host x\n User root\n ProxyCommand {command}\n").jumps == (jump,)


def test_tokens_of_a_jump_are_expanded(read):
    assert read("Host x\n HostName %h.lan\n ProxyJump jump.%h,%r@inner\n User ops\n").jumps == (
        "jump.x.lan",
        "ops@inner",
    )


@pytest.mark.parametrize(
    "command",
    [
        "nc -X 5 -x proxy:1080 %h %p",
        "ssh -i other_key -W %h:%p gate",
        "ssh -W elsewhere:22 gate",
        "ssh -o ProxyCommand=x -W %h:%p gate",
        "cloudflared access ssh --hostname %h",
        "sh -c 'touch owned; ssh -W %h:%p gate'",
        "ssh -W %h:%p gate \\",
    ],
)
def test_other_command_is_refused_by_name_and_never_run(read, home, command):
    with pytest.raises(SshConfigFault, match=r"^x is reached by the ProxyCommand .*ProxyJump"):
        read(f"Host *\n ProxyCommand {command}\n")
    assert not (home / "owned").exists()


def test_command_of_match_exec_is_never_run(read, home):
    text = f'Match host x exec "touch {home}/owned"\n HostName other\nHost *\n User me\n'
    with pytest.raises(SshConfigFault, match=r"line 1: Match exec .*touch.* --config"):
        read(text)
    # Where another criterion is not met, ssh runs nothing either.
    assert read(text, "y").username == "me"
    assert not (home / "owned").exists()


def test_setting_for_all_names_leaves_the_bastion_without_itself(read):
    text = f"{BASTION}Host *\n ProxyJump bastion\n"
    assert read(text, "bastion").jumps == ()
    assert read(text, "web").jumps == ("bastion",)
    assert read(text.replace("ProxyJump", "ProxyCommand ssh -W %h:%p"), "bastion").jumps == ()
    # Of two in a row the first one is reached from here, and the second through the first.
    two = f"{BASTION}Host *\n ProxyJump outer,bastion\n"
    assert [read(two, name).jumps for name in ("outer", "bastion", "web")] == [
        (), ("outer",), ("outer", "bastion"),
    ]  # fmt: skip


@pytest.mark.parametrize("wish", ["yes", "always"])
def test_name_that_ssh_would_complete_is_refused(read, wish):
    text = f"CanonicalizeHostname {wish}\nCanonicalDomains a.example\n"
    with pytest.raises(SshConfigFault, match="give the whole name by HostName"):
        read(text)
    assert read(text, "192.0.2.1").address == "192.0.2.1"
    assert read(f"{text}CanonicalDomains none\n".replace("a.example", "none")).address == "x"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Port many\n", "line 1: 'many' is not a port"),
        ("User me\nHostName\n", "line 2: no value"),
        ("Host x\n User 'me\n", "line 2: the quotes do not match"),
        ("Match host\n", "line 1: Match host needs a value"),
        ("IdentityFile ~/k_%C\n", "%C in .* has no value here"),
        ("IdentityFile ${NOWHERE}/k\n", "NOWHERE"),
    ],
)
def test_line_that_cannot_be_read_is_named(read, text, fault):
    with pytest.raises(SshConfigFault, match=fault):
        read(text)


def test_files_that_include_each_other_end_in_a_fault(read, home):
    (home / ".ssh" / "again").write_text("Include again\n")
    with pytest.raises(SshConfigFault, match="include each other"):
        read("Include again\n")


# --- the oracle ---------------------------------------------------------------------------------

NAMES = ("bastion", "web-1", "web-2", "db-7", "db-test", "WEB-1", "other.example")
SETTINGS = (
    *("HostName %h.internal.example", "HostName 192.0.2.7", "hostname=Db-7", 'HostName "web-1"'),
    *("Port 2200", "Port=22 # usual", "  port = 2022", "User alice", 'User "db admin"', "User=bob"),
    *("ProxyJump bastion", "ProxyJump none", "ProxyJump a@one:2200,two", "ProxyCommand none"),
    *("ProxyCommand ssh -W %h:%p bastion", "ProxyCommand = ssh -W %h:%p gate"),
    *("IdentityFile ~/.ssh/id_%h", "IdentityFile none", 'IdentityFile "~/.ssh/a b"'),
    *("ForwardAgent yes", "IdentityFile ~/.ssh/two", "# User nobody", ""),
)
BLOCKS = (
    *("Host *", "Host web-* !web-2", "Host db-? bastion", "Host !bastion", "Host !db-test *"),
    *("Match all", "Match host web-1", "Match host WEB-*,db-7 user alice", "Match user bob,root"),
    *("Match !host *.example", "Match originalhost db-* host *.internal.example", "Match final"),
    *("Match !user alice", "Match canonical all", "match final host db-7", f"Match localuser {getpass.getuser()}"),
    *("Include more.conf", "Include conf.d/*.conf nothing*"),
)  # fmt: skip


def made(draw, blocks):
    lines = []
    for _ in range(draw.randint(1, 5)):
        lines += [draw.choice(SETTINGS) for _ in range(draw.randint(0, 4))]
        lines.append(draw.choice(blocks))
    return "\n".join([*lines, *(draw.choice(SETTINGS) for _ in range(4)), ""])


def answer_of_ssh(path, name):
    """`ssh -G`: keyword → values."""
    command = [shutil.which("ssh"), "-G", "-F", str(path), name]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode:
        assert "jumphost loop" in said.stderr
        return None
    answer = {}
    for line in said.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        answer.setdefault(keyword, []).append(value)
    return answer


@pytest.mark.skipif(shutil.which("ssh") is None, reason="the oracle is OpenSSH's client")
@pytest.mark.parametrize("seed", range(60))
def test_login_agrees_with_ssh(home, seed):
    draw = random.Random(seed)
    # OpenSSH takes the home of the account, so what is included is named in full.
    ssh_directory = home / ".ssh"
    plain = [block for block in BLOCKS if not block.startswith("Include")]
    (ssh_directory / "more.conf").write_text(made(draw, plain))
    (ssh_directory / "conf.d" / "1.conf").write_text(made(draw, plain))
    (ssh_directory / "conf.d" / "0.conf").write_text(made(draw, plain))
    path = home / "config"
    text = made(draw, BLOCKS).replace("Include ", f"Include {ssh_directory}/")
    path.write_text(text.replace(" nothing*", f" {ssh_directory}/nothing*"))
    for name in NAMES:
        settings = SshSettings(name, getpass.getuser())
        settings.read({path: ssh_directory})
        found = {
            "hostname": [settings.host.lower()],
            "port": [settings.values.get("port", "22")],
            "user": [settings.user],
            "proxyjump": [settings.values.get("proxyjump", "none")],
            "proxycommand": [settings.values.get("proxycommand", "none")],
            "identityfile": settings.lists["identityfile"],
        }
        expected = answer_of_ssh(path, name)
        if expected is None:  # a jump through itself, of which ssh says nothing more
            continue
        # Without any ssh lists the default ones of its version.
        found["identityfile"] = found["identityfile"] or expected["identityfile"]
        assert found == {key: expected.get(key, ["none"]) for key in found}, (
            name,
            path.read_text(),
        )
