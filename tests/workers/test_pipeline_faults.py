"""What a run does with files that are damaged or cut off on their way, and with tools that are not there."""

from dataclasses import replace
from pathlib import Path

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.measure.repeats import RawResult
from workers.remote import pipeline
from workers.remote.driver import Output
from workers.remote.local import LocalTransport
from workers.remote.pipeline import Snapshot
from workers.remote.probes import build

FILES = {"runner.sh": b"echo runner\n", "plan.sh": b"echo plan\n"}


@pytest.fixture
def transport(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return LocalTransport()


async def refusal(call):
    with pytest.raises(DriverError) as raised:
        await call
    return raised.value


async def bundled(folder):
    return await pipeline.bundle(build.host_arch(), ["cmips"], "plan", build_dir=folder)


async def test_run_without_probes_or_compiler_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("ZIG", str(tmp_path / "none"))
    error = await refusal(bundled(tmp_path))
    assert (error.reason, error.retryable) == (Reason.UNSUPPORTED, False)
    assert "no compiler at" in error.detail


@pytest.mark.native
async def test_probe_that_was_altered_is_built_again_and_never_sent(
    tmp_path, monkeypatch, built_probes
):
    good, copied = build.BUILD_DIR / build.host_arch(), tmp_path / build.host_arch()
    copied.mkdir()
    for path in good.iterdir():
        if path.is_file():
            (copied / path.name).write_bytes(path.read_bytes())
    (copied / "cmips").write_bytes(b"another program")
    asked = []

    def built(arch, *, build_dir):
        asked.append(build_dir)
        (copied / "cmips").write_bytes((good / "cmips").read_bytes())
        return build.binaries(arch, build_dir)

    monkeypatch.setattr(build, "build", built)
    files = await bundled(tmp_path)
    assert (asked, files["bin/cmips"]) == ([tmp_path], (good / "cmips").read_bytes())


async def test_files_that_are_cut_off_in_transit_are_not_run(transport, tmp_path, monkeypatch):
    put = LocalTransport.put

    async def cut(self, content, path, **given):
        await put(self, content[:-3], path, **given)

    directory = f"{tmp_path}/rackrate-1"
    with monkeypatch.context() as cutting:
        cutting.setattr(LocalTransport, "put", cut)
        error = await refusal(pipeline.prepare(transport, directory, FILES))
    assert (error.reason, error.retryable) == (Reason.INTERRUPTED, True)
    assert error.detail == "plan.sh did not arrive as it was sent"
    # The next attempt makes it good.
    assert await pipeline.prepare(transport, directory, FILES) is None
    assert Path(directory, "plan.sh").read_bytes() == FILES["plan.sh"]


async def test_results_of_a_run_without_a_manifest_are_taken_as_they_are():
    """The host was lost before the end: what came is all that there is."""
    raw = RawResult(1, "001-cmips-all-0", b"out", b"", b"{}")
    snapshot = Snapshot("b", True, False, None, (), (raw,), None)
    assert pipeline.find_damage(snapshot) == {}
    # A manifest that lists none of them is another thing.
    listed = pipeline.find_damage(replace(snapshot, manifest={}))
    assert listed == {raw.name: "001-cmips-all-0.out does not match its checksum"}


class Saying(LocalTransport):
    """A host on which every script prints this."""

    def __init__(self, said):
        self.said = said

    async def run(self, command, **_):
        return Output(0, f"{pipeline.scripts.BEGIN}\n{self.said}\n".encode(), b"")


# busybox prints the letters where its date knows no %s, df of some containers nothing.
@pytest.mark.parametrize(
    ("said", "clock_s"), [("clock_s %s", None), ("clock_s ", None), ("clock_s 1790000000", 1.79e9)]
)
async def test_clock_and_disk_that_a_host_does_not_state_hinder_no_run(said, clock_s):
    answer = f"directory /tmp/rackrate-1\narch x86_64\nfree_kib\n{said}"
    identity = await pipeline.identify(Saying(answer), "1")
    assert (identity.clock_s, identity.arch) == (clock_s, "x86_64")


async def test_last_line_counts_when_installing_prints_before_it():
    """Package managers print; a port of theirs is not where the other end listens."""
    said = "port 80 is open\nSetting up iperf3\nport 20417"
    serving = await pipeline.serve(Saying(said), "/tmp/x", seconds=1, is_installing=True)
    assert serving == pipeline.Serving(port=20417)
