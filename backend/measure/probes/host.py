"""Steps before the measurements: the programs that they need, and the inventory of the host."""

from backend.measure.probes.series import Probe, ProbeSeries
from backend.measure.readers import inventory

INVENTORY = "inventory"
PACKAGES = "packages"
# What a host's package manager installs where a run may do so.
INSTALLED = ("fio", "iperf3", "stress-ng", "sysbench", "openssl", "redis-cli")
HOST_PROBES: tuple[Probe, ...] = (
    Probe(
        name=PACKAGES,
        version="1",
        series=(ProbeSeries("install", ("packages.sh", "install", *INSTALLED), "20", "600", ""),),
        parser=None,
        metrics=(),
        needs=(),
    ),
    Probe(
        name=INVENTORY,
        version="2",
        series=(ProbeSeries("host", ("inventory.sh", "inventory", "{directory}"), "1", "20", ""),),
        parser=inventory.parse,
        metrics=(),
        needs=(),
    ),
)
