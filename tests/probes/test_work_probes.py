"""redis.sh, web.sh and general.sh with real servers: what they print is read as it stands, and nothing is left."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from backend.measure.metrics.general_performance import CRYPTO
from backend.measure.probes import PROBES
from tests.probes.conftest import needs, processes_in

TOOLS = ("redis-server", "redis-cli", "redis-benchmark")
WEB_TOOLS = ("nginx", "wrk")
NEEDED = ("sh", "dirname", "sed", "grep", "tr", "cat", "rm", "sleep", "ln", "kill", "readlink")


def only(tmp_path, *names):
    """A PATH with these programs and nothing else."""
    for name in (*NEEDED, *names):
        if (program := shutil.which(name)) and not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(program)
    return str(tmp_path)


def lines_in(directory):
    """Process → its command line, of those that work in a directory."""
    lines = {}
    for pid in processes_in(directory):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            lines[pid] = " ".join(word.decode() for word in words)
    return lines


def servers_in(directory):
    return [
        line
        for line in lines_in(directory).values()
        if line.startswith(("redis-server", "/")) and "redis-server " in line
    ]


def web_processes(directory):
    """nginx and wrk, below the script that is given: those that name the directory or work in it."""
    return [
        pid
        for pid, line in lines_in(directory).items()
        if line.startswith(("nginx: ", "nginx ", "wrk "))
    ]


def test_redis_has_a_server_and_a_client_for_each_usable_cpu(run_directory, shell):
    needs(*TOOLS)
    for pipeline in (16, 1):
        text = run_directory.run(shell, "redis.sh", "set", pipeline, 1)
        (sample,) = PROBES["redis"].parse(text, f"p{pipeline}")
        assert sample.variant == f"p{pipeline}"
        assert sample.parameters["threads"] == len(os.sched_getaffinity(0))
        assert sample.parameters["tool"].startswith("Redis ")
    # The figures of a server lie in files until they are printed.
    assert sorted(path.name for path in run_directory.path.glob("redis-*")) == []


def test_redis_server_takes_set_alone_and_listens_on_the_loopback(run_directory):
    needs(*TOOLS)
    running = run_directory.start(["sh"], "redis.sh", "set", 1, 5)
    try:
        for _ in range(100):
            titles = servers_in(run_directory.path)
            if titles and all(":" in title for title in titles):
                break
            time.sleep(0.1)
        assert titles
        address, port = titles[0].split()[1].rsplit(":", 1)
        assert address == "127.0.0.1"
        for command in ("config get dir", "flushall", "eval return 0", "shutdown", "get key"):
            said = subprocess.run(
                ["redis-cli", "-p", port, *command.split()],
                capture_output=True,
                text=True,
                timeout=20,
            ).stdout
            assert said.startswith("NOPERM"), command
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=20)
    assert servers_in(run_directory.path) == []


@pytest.mark.parametrize(
    ("words", "tools", "is_server"),
    [
        ("redis p1 0 60 redis.sh set 1 30", TOOLS, lambda line: "redis-server " in line),
        ("web 1k 0 60 web.sh 1 30", WEB_TOOLS, lambda line: "nginx: worker" in line),
    ],
)
def test_killed_test_leaves_no_server_when_its_step_is_ended(
    run_directory, words, tools, is_server
):
    """Even the script is killed at once: observe ends whatever it began."""
    needs(*tools)
    run_directory.plan(f"step {words}")
    running = run_directory.start(["sh"])

    def processes(fits) -> list[int]:
        return [pid for pid, line in lines_in(run_directory.path).items() if fits(line)]

    for _ in range(200):
        if processes(is_server):
            break
        time.sleep(0.05)
    assert processes(is_server)
    script = f"{run_directory.path}/{words.split()[4]}"
    scripts = processes(lambda line: line.split()[1:2] == [script])
    assert scripts
    for pid in scripts:
        os.kill(pid, signal.SIGKILL)
    running.communicate(timeout=30)
    assert lines_in(run_directory.path) == {}


def test_general_measures_all_that_it_is_the_mean_of(run_directory, shell):
    needs(*TOOLS, "openssl")
    text = run_directory.run(shell, "general.sh", 1, 1)
    # What openssl says on stderr is beside the result here, and apart from it in a run.
    text = "".join(line for line in text.splitlines(True) if not line.startswith(("+DT", "+R")))
    first, *parts = PROBES["general"].parse(text, "all")
    assert first.metric == "general_performance"
    assert len(parts) == 2 + len(CRYPTO)


def test_general_is_unavailable_when_redis_is_absent(run_directory, tmp_path):
    path = only(tmp_path)
    for script, words in (("redis.sh", ("set", 1, 1)), ("general.sh", (1, 1))):
        said = run_directory.run(["sh"], script, *words, code=7, path=path)
        assert said == "=== failure unavailable: Redis with redis-benchmark is not installed\n"


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install redis-tools"),
        ("dnf", "dnf install redis"),
        ("apk", "apk add redis"),
        ("pacman", "pacman -S valkey"),
    ],
)
def test_redis_names_the_command_that_installs_it(run_directory, tmp_path, manager, command):
    path = only(tmp_path)
    (tmp_path / manager).symlink_to(shutil.which("true"))
    said = run_directory.run(["sh"], "redis.sh", "set", 1, 1, code=7, path=path)
    assert said == (
        f"=== failure unavailable: Redis with redis-benchmark is not installed: {command}\n"
    )


def test_redis_is_unavailable_when_it_is_too_old(run_directory, programs):
    for name in TOOLS:
        programs.put(name, "#!/bin/sh\necho 'Redis server v=5.0.7 sha=00000000:0 malloc=libc'\n")
    said = run_directory.run(["sh"], "redis.sh", "set", 1, 1, code=7, path=programs.path)
    assert said == "=== failure unavailable: redis 5.0.7 is too old: 6 or newer is needed\n"


def test_redis_is_unavailable_when_memory_is_short(run_directory, programs):
    """Each server has its limit, and the host keeps half of what is to spare."""
    for name in TOOLS:
        programs.put(name, "#!/bin/sh\necho 'Redis server v=7.0.15 sha=00000000:0 malloc=libc'\n")
    fake = run_directory.path / "bin/observe"
    fake.unlink()
    fake.write_text(
        "#!/bin/sh\n"
        'case $1 in --cpus) echo 4 ;; --memory) echo "300000000 1073741824 200000000" ;; esac\n'
    )
    fake.chmod(0o755)
    said = run_directory.run(["sh"], "redis.sh", "set", 1, 1, code=7, path=programs.path)
    assert said == ("=== failure unavailable: 4 servers need 256 MiB to spare, and 190 MiB are\n")


def test_general_is_unavailable_with_libressl(run_directory, programs):
    programs.put("openssl", "#!/bin/sh\necho 'LibreSSL 3.8.2'\n")
    for function in ("openssl_algorithms", "openssl_sha256"):
        said = run_directory.run(["sh"], "cpu.sh", function, 1, 1, code=7, path=programs.path)
        assert said == (
            "=== failure unavailable: openssl is LibreSSL 3.8.2 here, whose figures do not compare "
            "with those of OpenSSL\n"
        )


def test_general_names_the_algorithm_that_a_build_lacks(run_directory, programs):
    programs.put(
        "openssl",
        "#!/bin/sh\n"
        'case "$*" in version) echo "OpenSSL 3.2.2 4 Jun 2024" ;; *sm4-cbc) exit 1 ;; esac\n',
    )
    said = run_directory.run(
        ["sh"], "cpu.sh", "openssl_algorithms", 1, 1, code=7, path=programs.path
    )
    assert "=== failure unavailable: OpenSSL 3.2.2 has no sm4-cbc here" in said


def test_web_reads_what_nginx_answered_and_leaves_nothing(run_directory, shell):
    needs(*WEB_TOOLS)
    for kib in (1, 64):
        text = run_directory.run(shell, "web.sh", kib, 1)
        (sample,) = PROBES["web"].parse(text, f"{kib}k")
        assert sample.variant == f"{kib}k"
        assert sample.parameters["threads"] == len(os.sched_getaffinity(0))
        assert sample.parameters["tool"].startswith("nginx ")
    assert not (run_directory.path / "web").exists()
    assert web_processes(run_directory.path) == []


def test_web_ends_its_server_when_it_is_ended(run_directory):
    needs(*WEB_TOOLS)
    running = run_directory.start(["sh"], "web.sh", 1, 30)
    try:
        for _ in range(200):
            if len(web_processes(run_directory.path)) > 1:
                break
            time.sleep(0.1)
        processes = web_processes(run_directory.path)
        assert processes
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=30)
    assert [pid for pid in processes if Path(f"/proc/{pid}").exists()] == []
    assert not (run_directory.path / "web").exists()


def test_web_is_unavailable_when_a_tool_is_absent_or_too_old(run_directory, programs):
    programs.put("wrk", "#!/bin/sh\necho 'wrk 4.2.0 [epoll]'\n")
    programs.put("nginx", "#!/bin/sh\necho 'nginx version: nginx/1.14.1' >&2\n")
    said = run_directory.run(["sh"], "web.sh", 1, 1, code=7, path=programs.path)
    assert said == "=== failure unavailable: nginx 1.14.1 is too old: 1.19.5 or newer is needed\n"


def test_web_names_the_command_that_installs_the_client(run_directory, tmp_path):
    path = only(tmp_path)
    (tmp_path / "apt-get").symlink_to(shutil.which("true"))
    if any(Path(directory, "wrk").exists() for directory in ("/usr/sbin", "/usr/local/sbin")):
        pytest.skip("wrk lies where the probe always looks")
    said = run_directory.run(["sh"], "web.sh", 1, 1, code=7, path=path)
    assert said == "=== failure unavailable: wrk is not installed: apt-get install wrk\n"
