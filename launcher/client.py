"""`client`: the package rackrate-client, for other machines, as a wheel.

Most of its code is made from the description of the API and kept nowhere: client/ has the rest.
"""

import json
import shutil
import tempfile
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.environment import production_environment
from launcher.paths import MANAGE, PYTHON, ROOT
from launcher.setup import set_up, uv
from launcher.steps import LOGS, tool

SOURCE = ROOT / "client"
PACKAGE = "src/rackrate_client"


def build(output: Path) -> int:
    """Write the wheel into a folder."""
    set_up(for_development=True, only_packages=True)
    say(f"made {wheel(output)}")
    return 0


def wheel(output: Path) -> Path:
    """The wheel, made anew."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / "client"
        shutil.copytree(SOURCE, project)
        generate(project / PACKAGE / "generated")
        made = Path(directory) / "made"
        tool("client wheel", [uv(), "build", "--wheel", "--out-dir", str(made), str(project)])
        (built,) = made.glob("*.whl")
        return Path(shutil.copy(built, output))


def generate(target: Path) -> None:
    """The code of every operation; LauncherError where the generator would leave one out."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        description = Path(directory) / "openapi.json"
        arguments = ["spectacular", "--format", "openapi-json", "--fail-on-warn"]
        tool(
            "client description",
            [str(PYTHON), str(MANAGE), *arguments, "--file", str(description)],
            production_environment(),
        )
        options = {
            "--meta": "none",
            "--path": description,
            "--config": SOURCE / "generator.yml",
            "--output-path": target,
        }
        words = [str(word) for pair in options.items() for word in pair]
        command = [str(PYTHON), "-m", "openapi_python_client", "generate", "--fail-on-warning"]
        said = tool("client code", [*command, *words])
        missing = _operations(json.loads(description.read_text())) - _modules(target)
    if missing:
        raise LauncherError(f"the client has no {', '.join(sorted(missing))}: {said[-500:]}")


def _operations(description: dict[str, dict[str, dict[str, dict[str, str]]]]) -> set[str]:
    return {
        operation["operationId"]
        for methods in description["paths"].values()
        for operation in methods.values()
    }


def _modules(target: Path) -> set[str]:
    return {path.stem for path in target.glob("api/*/*.py")}
