"""Lists of hosts: what they say, and one clear error for each line that says nothing."""

import pytest

from backend.benchmarks.calc.host_lists.host_lists import read_fingerprints, read_hosts
from backend.benchmarks.calc.host_lists.listed_hosts import MAX_HOSTS
from backend.foundation.errors import InvalidDocument

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0oIyv5WqIVmhSJvqSMKvTGvIkWvZHmVzyS7nKlnJ0L"
ECDSA = (
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKg"
    "wFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg="
)
INVENTORY = """\
# a comment
bastion ansible_host=198.51.100.1

[web]
web[08:10].example.org ansible_port=2222
db-a ansible_host=192.0.2.7 ansible_user="deploy" # the old one

[db]
db-[a:b] ansible_host=192.0.2.7

[web:vars]
ansible_user = bench
[europe:children]
web
loop
[loop:children]
europe
[europe:vars]
ansible_user=root
ansible_ssh_common_args='-o ProxyJump=ops@bastion'
"""

YAML = """\
# a comment
---
all:
  hosts:
    bastion: {ansible_host: 198.51.100.1}
  vars:
    ansible_user: root
  children:
    europe:
      vars: {ansible_ssh_common_args: "-o ProxyJump=ops@bastion", packages: [fio, iperf3]}
      children:
        web:
          vars:
            ansible_user: bench
          hosts:
            web[08:10].example.org:
              ansible_port: 2222
            db-a:
    db:
      hosts:
        db-[a:c:2]:
          ansible_host: 192.0.2.7
          ansible_user: deploy
          ansible_port: ~
          token: !vault |
            $ANSIBLE_VAULT;1.1;AES256
"""


def listed(text, kind):
    return [entry.host for entry in read_hosts(text, kind).hosts]


def lines_of(text, kind):
    return {entry.host.name: entry.line for entry in read_hosts(text, kind).hosts}


def wrong(text, kind):
    with pytest.raises(InvalidDocument) as raised:
        read_hosts(text, kind)
    return {int(pointer.rpartition("/")[2]): detail for pointer, detail in raised.value.errors}


def test_csv_names_its_columns_and_leaves_out_what_is_open():
    text = (
        "Address,name,port,username,kind,tags,bastion,production\n"
        "192.0.2.1,rack 1,2222,bench,onprem,db berlin,gate,yes\n\n"
        "gate.example.org,,,,,,,no\n"
    )
    first, second = listed(text, "csv")
    assert lines_of(text, "csv") == {"rack 1": 2, "gate.example.org": 4}
    assert (first.name, first.address, first.port) == ("rack 1", "192.0.2.1", 2222)
    assert (first.username, first.kind, first.tags) == ("bench", "onprem", ["db", "berlin"])
    assert (first.bastion, first.is_in_production) == ("gate", True)
    assert (second.name, second.port, second.tags) == ("gate.example.org", 22, [])
    assert not second.is_in_production


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name,colour\na,red\n", 1, "the first line names the columns"),
        ("name\na\n", 1, "address among them"),
        ("address,port\n192.0.2.1,0\n", 2, "port: '0' is not a whole number from 1 to 65535"),
        ("address,port\n192.0.2.1,x\n", 2, "port: 'x' is not a whole number from 1 to 65535"),
        ("address\n192.0.2.1\nhttp://a\n", 3, "address: 'http://a' is not a host name"),
        ("address,production\n192.0.2.1,maybe\n", 2, "production: 'maybe' is neither yes nor no"),
        ("address,port\n192.0.2.1\n", 2, "1 cells, not 2"),
        ('address\n"192.0.2.1\n', 2, "unexpected end of data"),
        ("address\n192.0.2.1\n192.0.2.1\n", 3, "line 2 names 192.0.2.1, too"),
    ],
)
def test_csv_line_that_is_wrong_is_named(text, line, words):
    assert words in wrong(text, "csv")[line]


def test_csv_names_every_wrong_line_at_once_and_ends_somewhere():
    assert set(wrong("address,port\na,0\nb,22\nc,x\n", "csv")) == {2, 4}
    many = "address\n" + "".join(f"h{n}\n" for n in range(MAX_HOSTS + 1))
    assert f"more than {MAX_HOSTS} hosts" in wrong(many, "csv")[MAX_HOSTS + 2]


def test_inventory_gives_ranges_groups_variables_and_bastions():
    hosts = {host.name: host for host in listed(INVENTORY, "ansible")}
    assert set(hosts) == {
        "bastion", "db-a", "db-b", *(f"web{n}.example.org" for n in ("08", "09", "10")),
    }  # fmt: skip
    web = hosts["web09.example.org"]
    assert (web.address, web.port, web.username) == (web.name, 2222, "bench")
    assert lines_of(INVENTORY, "ansible")[web.name] == 5
    assert (web.bastion, set(web.tags)) == ("bastion", {"web", "europe", "loop"})
    assert (hosts["db-a"].username, hosts["db-b"].username) == ("deploy", None)
    assert set(hosts["db-a"].tags) == {"web", "db", "europe", "loop"}
    assert (hosts["bastion"].address, hosts["bastion"].bastion) == ("198.51.100.1", None)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[web\nweb1\n", 1, "not a section"),
        ("web1 ansible_user\n", 1, "'ansible_user' is not name=value"),
        ('web1 ansible_user="a\n', 1, "the quotes do not match"),
        ("web[3:1]\n", 1, "is no range"),
        ("web[a:10]\n", 1, "is no range"),
        ("web[1:10:0]\n", 1, "is no range"),
        ("web1\nweb2 ansible_port=ssh\n", 2, "port: 'ssh'"),
    ],
)
def test_inventory_line_that_is_wrong_is_named(text, line, words):
    assert words in wrong(text, "ansible")[line]


def test_yaml_inventory_gives_what_its_ini_form_does():
    hosts = {host.name: host for host in listed(YAML, "ansible")}
    assert set(hosts) == {
        "bastion", "db-a", "db-c", *(f"web{n}.example.org" for n in ("08", "09", "10")),
    }  # fmt: skip
    web = hosts["web09.example.org"]
    assert (web.address, web.port, web.username) == (web.name, 2222, "bench")
    assert (web.bastion, set(web.tags)) == ("bastion", {"web", "europe"})
    assert (hosts["db-a"].username, hosts["db-a"].port) == ("deploy", 22)
    lines = lines_of(YAML, "ansible")
    assert (lines[web.name], lines["db-a"]) == (16, 18)
    assert set(hosts["db-a"].tags) == {"web", "db", "europe"}
    assert (hosts["db-c"].address, hosts["db-c"].tags) == ("192.0.2.7", ["db"])
    assert (hosts["bastion"].address, hosts["bastion"].username) == ("198.51.100.1", "root")


def test_json_inventory_and_empty_yaml_are_read_as_yaml():
    (host,) = listed('{"web": {"hosts": {"a": {"ansible_port": 2200}}}}', "ansible")
    assert (host.name, host.port, host.tags) == ("a", 2200, ["web"])
    assert listed("---\n", "ansible") == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("all:\n  hosts:\n    a: {ansible_port: ssh}\n", 3, "port: 'ssh'"),
        ("all:\n  hosts: web1\n", 2, "hosts of all: names with a colon each are needed"),
        ("all:\n  hosts:\n    - web1\n", 3, "names with a colon each"),
        ("all:\n  host:\n    web1:\n", 2, "'host' in the group all is none of hosts"),
        ("all:\n  hosts:\n    a:\n    b:\n    a:\n", 5, "line 3 names a, too"),
        ("all:\n  hosts:\n    web[3:1]:\n", 3, "'web[3:1]' is no range"),
        ("all:\n  hosts:\n    ? [a, b]\n    : x\n", 3, "a name is needed before the colon"),
        ("all:\n  hosts:\n    a: {ansible_host: [b]}\n", 3, "ansible_host is not plain text"),
        ("all:\n  hosts:\n  a: b: c\n", 3, "YAML: mapping values are not allowed"),
        ("all:\n  hosts:\n\ta:\n", 3, "YAML: "),
        ("all:\n  hosts:\n    \x01:\n", 1, "YAML: "),
        ("a: &a\n  hosts:\nb: *a\n", 3, "aliases (*name) are not read"),
        ("all: " + "{a: " * 60 + "}" * 60, 1, "more than 50 levels"),
        ("plugin: amazon.aws.aws_ec2\n", 1, "`ansible-inventory --list --yaml`"),
    ],
)
def test_yaml_line_that_is_wrong_is_named(text, line, words):
    assert words in wrong(text, "ansible")[line]


def test_two_ranges_end_at_the_most_hosts():
    assert f"more than {MAX_HOSTS} hosts" in wrong("h[1:2000]-[1:2000]\n", "ansible")[1]


def test_known_hosts_gives_the_keys_of_each_the_preferred_first():
    text = f"# ours\n\nrack,192.0.2.1 {ECDSA} me@here\n[192.0.2.1]:2222 {ED25519}\nrack {ED25519}\n"
    entries = read_hosts(text, "known_hosts").hosts
    hosts = {(entry.host.address, entry.host.port): entry for entry in entries}
    assert hosts["rack", 22].keys == (ED25519, ECDSA)
    assert hosts["192.0.2.1", 22].keys == (ECDSA,)
    assert (hosts["192.0.2.1", 2222].host.name, hosts["192.0.2.1", 2222].line) == (
        "192.0.2.1:2222",
        4,
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"@trusted *.example.org {ED25519}", "neither @cert-authority nor @revoked"),
        ("@revoked", "not a whole key"),
        (f"@cert-authority |1|a|b {ED25519}", "is hashed"),
        (f"|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= {ED25519}", "is hashed"),
        ("rack ssh-dss AAAAB3NzaC1kc3M=", "not a whole key of a type that we use"),
        (f"rack {ED25519[:-9]}", "not a whole key"),
        (f"*.example.org {ED25519}", "is not a host name"),
    ],
)
def test_known_hosts_line_that_is_wrong_is_named(line, words):
    assert words in wrong(f"good {ED25519}\n{line}\n", "known_hosts")[2]


def test_known_hosts_gives_authorities_and_revoked_keys():
    text = f"@cert-authority *.example.org,!db.* {ED25519} ours\nrack {ECDSA}\n@revoked * {ECDSA}\n"
    reading = read_hosts(text, "known_hosts")
    assert [entry.host.name for entry in reading.hosts] == ["rack"]
    first, second = reading.authorities
    assert (first.line, first.patterns, first.public_key) == (1, "*.example.org,!db.*", ED25519)
    assert (first.is_revoked, second.is_revoked, second.public_key) == (False, True, ECDSA)


def test_fingerprints_are_read_as_ssh_keygen_prints_them():
    first, second = f"SHA256:{'a' * 43}", f"SHA256:{'b/+' * 14}c"
    text = f"# racks\n256 {first} root@rack-7 (ED25519)\n\n{second}\n"
    assert read_fingerprints(text) == {first, second}
    with pytest.raises(InvalidDocument, match="43 characters") as raised:
        read_fingerprints(f"{first}\nMD5:00:11\n256 {first}x\n")
    assert [pointer for pointer, _ in raised.value.errors] == ["/text/2", "/text/3"]


# --- the way to a host ------------------------------------------------------------------------------


def in_inventory(variables):
    return listed(f"w1 ansible_host=10.0.0.5 {variables}\n", "ansible")


@pytest.mark.parametrize(
    ("variables", "bastion"),
    [
        ("""ansible_ssh_common_args='-o ProxyCommand="ssh -W %h:%p -q ops@gate"'""", "gate"),
        ("""ansible_ssh_common_args='-o ProxyCommand="ssh -p 2200 -W [%h]:%p gate"'""", "gate"),
        ("ansible_ssh_extra_args='-J ops@gate:2200'", "gate"),
        ("ansible_ssh_args='-C -o ControlMaster=auto -o ProxyJump=gate'", "gate"),
        ("ansible_ssh_args='-oProxyJump=outer' ansible_ssh_extra_args='-J gate'", "outer"),
        ("ansible_ssh_common_args='-J [2001:db8::1]:22'", "2001:db8::1"),
        ("ansible_ssh_common_args='-o ProxyJump=none'", None),
        ("ansible_connection=ansible.builtin.ssh ansible_ssh_args='-C'", None),
    ],
)
def test_jump_of_an_inventory_is_the_bastion_wherever_it_stands(variables, bastion):
    assert [host.bastion for host in in_inventory(variables)] == [bastion]


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        (
            """ansible_ssh_common_args='-o ProxyCommand="nc -x proxy:1080 %h %p"'""",
            "nc -x proxy.*-J",
        ),
        ("""ansible_ssh_extra_args='-o "ProxyCommand ssh -i k -W %h:%p gate"'""", "ssh -i k.*-J"),
        ("ansible_ssh_common_args='-J outer,inner'", "'outer,inner' is not one bastion"),
        ("ansible_connection=local", "ansible_connection is 'local'.* leave it out"),
        ("ansible_connection=community.docker.docker", "only hosts that ssh reaches"),
        ("ansible_connection=winrm", "'winrm'"),
    ],
)
def test_connection_that_is_not_followed_is_refused_with_its_line(variables, why):
    with pytest.raises(InvalidDocument, match=f"/text/1: w1: .*{why}"):
        in_inventory(variables)


@pytest.mark.parametrize(
    "value",
    [
        """'-o ProxyJump="ops@gate:22"'""",
        """-o ProxyJump="ops@gate:22\"""",
        """"-o ProxyJump='ops@gate:22'\"""",
        "-J gate",
    ],
)
def test_jump_of_a_group_is_kept_whatever_its_quotes(value):
    text = f"[web]\nw1\n[web:vars]\nansible_ssh_common_args={value}\n"
    assert [host.bastion for host in listed(text, "ansible")] == ["gate"]


def test_host_with_its_port_is_read_as_ansible_does():
    text = "[web]\nw[1:2].example.com:5309\n[2001:db8::5]:2222\nw3:2200 ansible_port=22\n"
    hosts = listed(text, "ansible")
    assert [(host.address, host.port) for host in hosts] == [
        ("w1.example.com", 5309),
        ("w2.example.com", 5309),
        ("2001:db8::5", 2222),
        ("w3", 22),
    ]


@pytest.mark.parametrize("name", ["ansible_host", "ansible_user", "ansible_ssh_common_args"])
def test_template_of_a_login_is_refused_with_its_variable(name):
    with pytest.raises(InvalidDocument, match=f"/text/1: w1: {name} is the template"):
        read_hosts(f"w1 {name}='-J {{{{ gate }}}}'\n", "ansible")


def test_json_of_ansible_inventory_is_refused_and_names_yaml():
    text = '{"_meta": {"hostvars": {}}, "all": {"children": ["web"]}, "web": {"hosts": ["w1"]}}'
    with pytest.raises(InvalidDocument, match="--list --yaml") as raised:
        read_hosts(text, "ansible")
    assert len(raised.value.errors) == 1


def test_old_names_count_more_than_those_of_today_as_in_ansible():
    old = "ansible_ssh_host=192.0.2.9 ansible_ssh_port=2200 ansible_ssh_user=old"
    (host,) = in_inventory(f"{old} ansible_port=22 ansible_user=new")
    assert (host.address, host.port, host.username) == ("192.0.2.9", 2200, "old")


def test_deeper_group_wins_and_among_equals_its_priority_and_name():
    # Depths: top 1, other 1, middle 2, inner 3.
    text = """[top:children]
middle
[middle:children]
inner
[inner]
w1
[other]
w1
w2
[zeta]
w2
[inner:vars]
ansible_user=inner
[other:vars]
ansible_user=other
{priority}
[zeta:vars]
ansible_user=zeta
"""
    text = text.replace("\nw1\n", "\nw1 ansible_host=192.0.2.1\n", 1)
    text = text.replace("\nw2\n", "\nw2 ansible_host=192.0.2.2\n", 1)

    def users(priority):
        hosts = listed(text.format(priority=priority), "ansible")
        return {host.name: host.username for host in hosts}

    assert users("") == {"w1": "inner", "w2": "zeta"}
    assert users("ansible_group_priority=2") == {"w1": "inner", "w2": "other"}
