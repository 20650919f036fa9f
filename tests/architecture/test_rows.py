"""Rows are written by services and read by selectors; views and workers call those."""

import re

from tests.architecture import sources
from tests.architecture.sources import ROOT

READ = re.compile(r"\.objects\b")
WRITE = re.compile(
    r"\.objects\.\w*(create|update)\w*\(|\.(bulk_\w+|save|create|get_or_create|update_or_create)\(|"
    r"\.update\(\w+=|\.delete\(\)"
)


def lines(folder: str, pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources.files(folder)
        for number, line in enumerate(sources.text(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def test_views_leave_queries_to_selectors():
    folders = ["backend/site", *map(str, ROOT.glob("backend/*/pages"))]
    faults = [fault for folder in folders for fault in lines(folder, READ)]
    assert not faults, "\n".join(faults)


def test_workers_leave_writes_to_services():
    faults = lines("workers", WRITE)
    assert not faults, "\n".join(faults)


def test_patterns_match_writes_and_no_other_calls():
    assert WRITE.search("Run.objects.filter(pk=1).update(state=1)")
    assert WRITE.search("run.events.create(kind=kind)")
    assert WRITE.search("run.save()")
    assert not WRITE.search("digest.update(path.name)")
