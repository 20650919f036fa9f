"""Examples of the import form for each tool: how it is run, and its output."""

import functools
from typing import NamedTuple

from django.conf import settings


class Example(NamedTuple):
    """How a tool is run, and a file of fixtures/probes with its output; none where it is long."""

    command: str
    file: str = ""

    @property
    def output(self) -> str:
        """The text that may be pasted; empty where none is shown."""
        return _text(self.file) if self.file else ""


EXAMPLES = {
    "dd": Example("LC_ALL=C dd if=/dev/urandom of=file bs=1M count=4096 oflag=direct"),
    "fio": Example(
        "fio --name=read --filename=file --size=4G --rw=randread --bs=4k --iodepth=32"
        " --ioengine=libaio --direct=1 --time_based --runtime=60 --output-format=json"
    ),
    "iperf3": Example("iperf3 --client ADDRESS --time 30 --json"),
    "bonnie": Example("bonnie++ -d DIRECTORY -q", "bonnie-2.00a.txt"),
    "sysbench": Example("sysbench cpu --threads=4 --time=30 run", "sysbench-1.0.20-cpu.txt"),
    "stress-ng": Example(
        "stress-ng --cpu $(nproc) --cpu-method div16 -t 30 --metrics-brief",
        "stress-ng-typed-0.15.06.txt",
    ),
    "openssl": Example("openssl speed -mr -multi 2 -evp sha256", "openssl-3.0.19-2.txt"),
    "cmips": Example("cmips"),
    "yabs": Example("yabs.sh -j"),
    "coremark": Example("./coremark.exe", "coremark-parallel-synthetic.txt"),
    "passmark": Example(
        "PerformanceTest, File, Save results as CSV", "passmark-summary-synthetic.txt"
    ),
    "stated": Example("one figure a line, typed by you", "stated-aborted-synthetic.txt"),
}


# Files of the program: they change with a new version only.
@functools.cache
def _text(file: str) -> str:
    return (settings.FIXTURE_DIR / "probes" / file).read_text()
