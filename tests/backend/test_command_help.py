"""The help of every management command of the project can be printed."""

import pytest
from django.core.management import get_commands, load_command_class

OURS = sorted(
    name for name, app in get_commands().items() if app.startswith(("backend", "workers"))
)


@pytest.mark.parametrize("name", OURS)
def test_command_prints_its_help(name: str) -> None:
    command = load_command_class(get_commands()[name], name)
    assert name in command.create_parser("manage.py", name).format_help()


def test_commands_of_the_project_are_listed() -> None:
    assert "import_prices" in OURS
