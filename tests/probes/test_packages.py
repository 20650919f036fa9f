"""packages.sh with scripted package managers, and with the tools of this machine."""

import contextlib
import subprocess
import time

import pytest

from backend.measure.readers import runner_status
from backend.measure.readers.frames import sections
from tests.probes.conftest import needs

# One script is every package manager. `database` names what is installed; `locked`, as long as it exists, is another
# one's work: when it ends, that one has installed `foreign` too.
FAKE = r"""#!/bin/sh
here=$(dirname "$0")
manager=${0##*/}
echo "$manager $*" >> "$here/asked"
locked() {
    [ -e "$here/locked" ] || return 0
    rm "$here/locked"
    echo foreign >> "$here/database"
    echo "$1" >&2
    exit 1
}
add() {
    for name in "$@"; do
        case $name in -* | *=* | install | add) continue ;; esac
        [ "$name" != iperf ] || name=iperf3
        [ ! -e "$here/missing-$name" ] || { echo "E: Unable to locate package $name"; exit 100; }
        printf '%s\n%s\n' "$name" "lib$name" >> "$here/database"
        version=fio-3.99
        [ "$name" = fio ] || version='iperf 3.99'
        printf '#!/bin/sh\necho %s\n' "$version" > "$here/$name"
        chmod 755 "$here/$name"
    done
}
remove() {
    for name in "$@"; do
        case $name in -* | del) continue ;; esac
        rm -f "$here/$name"
        grep -vx "$name" "$here/database" > "$here/database.part"
        mv "$here/database.part" "$here/database"
    done
}
case $manager in
dpkg-query) sed 's/^/ii |/' "$here/database"; [ ! -e "$here/remains" ] || sed 's/^/rc |/' "$here/remains" ;;
dpkg | rpm) case "$*" in
    '-qa --qf %{NAME}.%{ARCH} %{INSTALLTID}\n')
        sed 's/.*/& 1/; s/^\(lib\)*\(fio\|iperf3*\) 1/\1\2 7/' "$here/database" ;;
    -qa*) cat "$here/database" ;;
    -q*) echo 7 ;;
    *) locked 'error: dpkg frontend lock was locked by another process with pid 7'; remove "$@" ;;
    esac ;;
apk | pacman) case $1 in
    info | -Qq) cat "$here/database" ;;
    del | -Rn) remove "$@" ;;
    *) locked 'ERROR: Unable to lock database: Resource temporarily unavailable'; add "$@" ;;
    esac ;;
*) case "$*" in
    *update) rm -f "$here"/missing-*; exit ;;
    esac
    [ ! -p "$here/pipe-begun" ] || { echo > "$here/pipe-begun"; read -r _ < "$here/pipe-go"; }
    locked 'E: Could not get lock /var/lib/dpkg/lock-frontend. System management is locked.'
    add "$@" ;;
esac
"""
MANAGERS = {
    "apt-get": ("apt-get", "dpkg", "dpkg-query"),
    "dnf": ("dnf", "rpm"),
    "yum": ("yum", "rpm"),
    "zypper": ("zypper", "rpm"),
    "apk": ("apk",),
    "pacman": ("pacman",),
}
BEFORE = ["base", "libc"]


@pytest.fixture
def host(programs):
    """Puts a package manager on PATH, and root's rights with it."""

    def make(manager="apt-get", user=0):
        for name in MANAGERS[manager]:
            programs.put(name, FAKE)
        programs.put("id", f"#!/bin/sh\necho {user}\n")
        (programs.directory / "database").write_text("".join(f"{name}\n" for name in BEFORE))
        return programs.directory

    return make


def _database(host):
    return (host / "database").read_text().split()


@pytest.mark.parametrize("manager", MANAGERS)
def test_packages_are_installed_and_removed_by_a_known_manager(
    run_directory, host, programs, manager
):
    place = host(manager)
    text = run_directory.run(["sh"], "packages.sh", "install", "fio", "iperf3", path=programs.path)
    (section,) = sections("packages", text)
    assert (section.name, section.exit_code) == ("packages", 0)
    assert f"installing fio by {manager}" in section.text
    assert _database(place) == [*BEFORE, "fio", "libfio", "iperf3", "libiperf3"]
    with (place / "database").open("a") as database:
        database.write("of the user\n")
    run_directory.run(["sh"], "packages.sh", "remove", path=programs.path)
    assert (place / "database").read_text().splitlines() == [*BEFORE, "of the user"]
    left = {file.name for file in run_directory.path.iterdir()}
    assert not left & {"installed", "working", "before", "after", "attempt", "remains"}


def test_packages_wait_when_another_manager_has_the_lock(run_directory, host, programs, shell):
    place = host()
    (place / "locked").touch()
    text = run_directory.run(shell, "packages.sh", "install", "fio", path=programs.path)
    assert "waiting for another package manager" in text
    assert _database(place) == [*BEFORE, "foreign", "fio", "libfio"]
    (place / "locked").touch()
    run_directory.run(shell, "packages.sh", "remove", path=programs.path)
    assert _database(place) == [*BEFORE, "foreign", "foreign"]


def test_packages_stay_recorded_when_the_lock_does_not_go(run_directory, host, programs):
    place = host()
    run_directory.run(["sh"], "packages.sh", "install", "fio", path=programs.path)
    (place / "locked").touch()
    (place / "locked").chmod(0o400)
    text = (place / "dpkg").read_text().replace('rm "$here/locked"', ":")
    (place / "dpkg").write_text(text)
    said = run_directory.run(["sh"], "packages.sh", "remove", "1", code=1, path=programs.path)
    assert said.endswith("another package manager is still at work\n")
    assert (run_directory.path / "installed").read_text() == "apt-get fio\napt-get libfio\n"


def test_packages_are_looked_up_anew_when_the_lists_are_old(run_directory, host, programs):
    place = host()
    (place / "missing-fio").touch()
    run_directory.run(["sh"], "packages.sh", "install", "fio", path=programs.path)
    assert "apt-get -q update" in (place / "asked").read_text()
    assert _database(place) == [*BEFORE, "fio", "libfio"]


def test_settings_stay_when_the_package_had_been_there_before(run_directory, host, programs):
    place = host()
    (place / "remains").write_text("libfio\n")
    run_directory.run(["sh"], "packages.sh", "install", "fio", path=programs.path)
    run_directory.run(["sh"], "packages.sh", "remove", path=programs.path)
    asked = (place / "asked").read_text().splitlines()
    assert "dpkg --purge fio" in asked
    assert "dpkg --remove libfio" in asked


def test_packages_are_unavailable_when_the_manager_does_not_have_them(
    run_directory, host, programs, shell
):
    place = host("pacman")
    (place / "missing-fio").touch()
    text = run_directory.run(
        shell, "packages.sh", "install", "fio", "iperf3", code=7, path=programs.path
    )
    assert text.splitlines()[-1].startswith("=== failure unavailable: could not install fio: ")
    assert _database(place) == [*BEFORE, "iperf3", "libiperf3"]


def test_packages_are_unavailable_when_there_are_no_rights(run_directory, host, programs, shell):
    place = host(user=1000)
    text = run_directory.run(shell, "packages.sh", "install", "fio", code=7, path=programs.path)
    assert text == (
        "=== failure unavailable: no fio, and neither root nor sudo without a password to "
        "install it\n"
    )
    assert _database(place) == BEFORE


def test_packages_are_unavailable_when_there_is_no_manager(run_directory, host, programs):
    place = host("apk")
    (place / "apk").unlink()
    text = run_directory.run(["sh"], "packages.sh", "install", "fio", code=7, path=programs.path)
    assert text == "=== failure unavailable: no fio, and no known package manager\n"


def test_sudo_is_asked_without_a_password_when_the_user_is_not_root(run_directory, host, programs):
    place = host(user=1000)
    programs.put("sudo", '#!/bin/sh\n[ "$1" = -n ] && shift && exec "$@"\n')
    run_directory.run(["sh"], "packages.sh", "install", "fio", path=programs.path)
    assert _database(place) == [*BEFORE, "fio", "libfio"]


def test_nothing_is_installed_when_the_tools_are_there(run_directory, shell):
    needs("fio", "iperf3")
    text = run_directory.run(shell, "packages.sh", "install", "fio", "iperf3")
    (section,) = sections("packages", text)
    assert section.text == "nothing to do: fio iperf3 found"
    assert not (run_directory.path / "installed").exists()
    run_directory.run(shell, "packages.sh", "remove")


def test_runner_removes_what_it_installed_when_the_run_ends(run_directory, host, programs, shell):
    place = host()
    run_directory.plan(
        "step packages install 0 60 packages.sh install fio iperf3",
        "step cmips all 0 20 bin/cmips --threads 1 --seconds 0.2",
    )
    run_directory.run(shell, path=programs.path)
    assert runner_status.parse(run_directory.status()).state == "finished"
    assert "installing fio" in run_directory.result("001-packages-install-0.out")
    assert _database(place) == BEFORE


def test_package_manager_is_not_ended_halfway_when_the_run_is_cancelled(
    run_directory, host, programs, shell
):
    place = host()
    for name in ("pipe-begun", "pipe-go"):
        subprocess.run(["mkfifo", place / name], check=True)
    run_directory.plan("step packages install 0 60 packages.sh install fio")
    running = run_directory.start(shell, path=programs.path)
    (place / "pipe-begun").read_text()
    (run_directory.path / "cancel").touch()
    record = run_directory.path / "results" / "001-packages-install-0.json"
    end = time.monotonic() + 20
    while not record.exists() and time.monotonic() < end:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(0.05)
    assert '"cancelled":true' in record.read_text()
    (place / "pipe-go").write_text("\n")
    running.communicate(timeout=30)
    assert runner_status.parse(run_directory.status()).state == "cancelled"
    asked = (place / "asked").read_text()
    assert asked.index("apt-get -y") < asked.index("dpkg --purge fio libfio")
    assert _database(place) == BEFORE
