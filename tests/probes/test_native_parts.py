"""Parts of the probes whose special cases this machine cannot show, in programs of their own."""

import os
import statistics
import subprocess

import pytest

from workers.remote.probes import build


@pytest.fixture
def answers(compiler, tmp_path):
    """Compiles a main function with some headers and answers the lines that it prints."""

    def run(headers: tuple[str, ...], body: str) -> list[str]:
        source = tmp_path / "part.c"
        includes = "".join(f'#include "{header}"\n' for header in (*headers, "json.h"))
        source.write_text(
            f"{includes}static int probe_main(int argc, char **argv, char **envp)\n"
            f"{{\n(void)argc; (void)argv; (void)envp;\n{body}\n"
            "return output_exit(write_all(1, json_line.text, json_line.length));\n}\n"
        )
        command = [str(compiler), "cc", "-target", f"{build.host_arch()}-linux-musl", *build.FLAGS]
        program = tmp_path / "part"
        command += ["-I", str(build.NATIVE), str(source), "-o", str(program)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=20)
        return done.stdout.split("\n")[:-1]

    return run


def test_native_path_is_left_to_its_disk_only_when_it_is_one(answers):
    pairs = [
        ("nvme0c1n1", "nvme0n1", 1),
        ("nvme0c12n3", "nvme0n3", 1),
        ("nvme0c1n1", "nvme1n1", 0),
        ("nvme0c1n1", "nvme0n2", 0),
        ("nvme0c1n1", "nvme0n11", 0),
        ("nvme0n1", "nvme0n1", 0),
        ("nvme0cn1", "nvme0n1", 0),
        ("xvdcn", "xvdn", 0),
    ]
    body = "\n".join(
        f'json_digits(is_path_to("{path}", "{disk}"), 1); json_char(10);' for path, disk, _ in pairs
    )
    assert answers(("traffic.h",), body) == [str(expected) for _, _, expected in pairs]


def test_native_names_are_no_disks_when_they_stand_on_others(answers):
    names = ["loop0", "ram0", "zram0", "dm-0", "md127", "bcache0", "drbd1", "zd16", "no-such-disk"]
    body = "\n".join(f'json_digits(is_disk("{name}"), 1); json_char(10);' for name in names)
    assert answers(("traffic.h",), body) == ["0"] * len(names)


def test_native_line_of_counters_is_read_without_a_blank_after_the_colon(answers):
    body = """
    char name[NAME_BYTES];
    const char *cursor = "  eth0:12345 7 0\\n";
    json_digits(next_name(&cursor, ':', name) && *cursor++ == ':' && text_equals(name, "eth0"), 1);
    json_char(' ');
    json_digits(next_u64(&cursor), 1);
    json_char(10);
    cursor = "a-name-longer-than-thirty-one-characters: 1";
    json_digits(next_name(&cursor, ':', name), 1);
    json_char(10);"""
    assert answers(("traffic.h",), body) == ["1 12345", "0"]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 199, 200])
def test_native_order_agrees_with_python_when_values_are_sorted(answers, count):
    values = [(37 * place) % 101 + place % 3 for place in range(count)]
    body = f"""
    double values[] = {{{", ".join(map(str, values))}}};
    const uint64_t count = {count};
    sort(values, count);
    for (uint64_t i = 0; i < count; i++) {{ json_number(values[i], 0); json_char(10); }}
    json_number(middle(values, count), 1); json_char(10);
    json_number(percentile(values, count, 50), 0); json_char(10);
    json_number(percentile(values, count, 99), 0); json_char(10);"""
    *ordered, middle, p50, p99 = map(float, answers(("order.h",), body))
    assert ordered == sorted(values)
    assert middle == statistics.median(values)
    # Nearest rank: the smallest value that so many percent do not exceed.
    assert p50 == sorted(values)[(count * 50 + 99) // 100 - 1]
    assert p99 == sorted(values)[(count * 99 + 99) // 100 - 1]


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("63-64", [63, 64]),
        ("5", [5]),
        ("8190-9999", [8190, 8191]),
        ("9000", []),
        ("", []),
        ("x", []),
        ("1-x", []),
        ("3-1,2", [2]),
    ],
)
def test_native_list_of_cpus_becomes_a_mask_when_it_is_read(answers, cpus, expected):
    body = f"""
    static uint64_t mask[MASK_WORDS];
    mask_of_list("{cpus}\\n", mask);
    for (uint64_t i = 0; i < MASK_BITS; i++) if (mask_has(mask, i)) {{
        json_digits(i, 1); json_char(10);
    }}"""
    assert answers(("nodes.h",), body) == [str(cpu) for cpu in expected]


def test_native_worker_keeps_to_one_cpu_of_a_mask(answers):
    """Memory that it touches first then stays near it; more workers than CPUs begin anew."""
    usable = sorted(os.sched_getaffinity(0))
    body = "\n".join(
        f"""{{ struct host_cpus cpus, now; host_cpus_read(&cpus);
        json_digits(run_on_one(cpus.mask, {index}), 1); json_char(' ');
        host_cpus_read(&now); json_digits(now.affinity_count, 1); json_char(' ');
        json_digits(mask_has(now.mask, {usable[index % len(usable)]}), 1); json_char(10);
        SYS3(NR_SCHED_SETAFFINITY, 0, sizeof cpus.mask, cpus.mask); }}"""
        for index in (0, 1, len(usable))
    )
    none = "static const uint64_t none[MASK_WORDS]; json_digits(run_on_one(none, 0), 1); json_char(10);"
    assert answers(("nodes.h",), body + none) == ["1 1 1"] * 3 + ["0"]


@pytest.mark.parametrize(
    ("busy", "idle", "steal", "share"),
    [
        (260, 1620, 0, 0.19),  # 260 looks met somebody, but 380 jiffies were not idle
        (380, 1420, 200, 0.19),  # what was stolen is nobody's work
        (0, 1999, 0, 0.0005),
        (500, 2010, 0, 0.0),  # more idle than time: rounding
        (300, 0, 0, 0.15),  # a sandbox that counts nothing but busy time
    ],
)
def test_native_busy_time_is_what_was_not_idle(answers, busy, idle, steal, share):
    body = f"""
    const struct snapshot from = {{.at_ns = 7, .idle_ns = 5, .cpus = 2}};
    const struct snapshot to = {{.at_ns = 7 + 10 * NS_PER_S, .busy_ns = {busy}ull * JIFFY_NS,
        .idle_ns = 5 + {idle - idle // 4}ull * JIFFY_NS, .iowait_ns = {idle // 4}ull * JIFFY_NS,
        .steal_ns = {steal}ull * JIFFY_NS, .cpus = 2}};
    json_number(foreign_ratio(&from, &to, 0), 4); json_char(10);"""
    assert float(answers(("host.h",), body)[0]) == share
