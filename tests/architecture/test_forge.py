"""What the forges run, what may change packages, and what a newcomer reads first."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def test_workflow_only_calls_the_gate_and_may_only_read():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]


def test_nightly_workflow_runs_tests_that_exist_and_may_only_read():
    workflow = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    (run,) = (step["run"] for step in workflow["jobs"]["containers"]["steps"] if "run" in step)
    assert run.startswith("./rackrate test --deep ")
    paths = [word for word in run.split() if word.startswith("tests/")]
    assert len(paths) == 3
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_pipeline_only_calls_the_gate():
    pipeline = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())
    assert {name: job["script"] for name, job in pipeline.items()} == {"gate": [".ci/run"]}


@pytest.mark.parametrize(
    ("ecosystem", "manifest"),
    [
        ("pip", "pyproject.toml"),
        ("npm", "package.json"),
        ("docker", "Dockerfile"),
        ("docker-compose", "docker-compose.yml"),
    ],
)
def test_dependency_updates_cover_each_manifest(ecosystem, manifest):
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    (update,) = (one for one in updates if one["package-ecosystem"] == ecosystem)
    folders = update.get("directories") or [update["directory"]]
    assert any((ROOT / folder.lstrip("/") / manifest).is_file() for folder in folders)


def test_contributing_names_only_paths_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = "backend|docs|frontend|launcher|requirements|tests|workers"
    paths = set(re.findall(rf"\b(?:{folders})/[\w./-]*\w", text)) - {"frontend/static"}
    assert len(paths) > 10
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
