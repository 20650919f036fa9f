"""Code that nothing reaches: what vulture lists, less what is reached by other ways than a call."""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture
from vulture.config import make_config
from vulture.core import Item

from tests.architecture import sources
from tests.architecture.sources import ROOT

TEMPLATES = ROOT / "frontend/templates"
TAG = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
DOTTED = re.compile(r"[A-Za-z_][\w.]*[.:](?P<name>\w+)")

FACTS = "stored by asdict as facts or conditions; pages and archives read them by name"
DOCUMENT = "field of a document: Django REST framework writes it by name"
HOOK = "the framework calls it by name"
FORM = "field of a form: pages and cleaned_data name it by its position or by a string"
ANNOTATION = "in a quoted annotation: the class takes no parameter while the program runs"
RESULT = "asdict writes it into the document of the answer"
# (file, name), both as patterns → how it is reached.
REACHED = {
    ("backend/config/settings.py", "[A-Z]*"): "Django, Celery and DRF read settings by name",
    ("backend/urls.py", "handler?00"): HOOK,
    ("backend/site/number_fields.py", "prepare_value"): HOOK,
    ("backend/core/apps.py", "default_site"): HOOK,
    ("backend/core/admin.py", "extra_context"): HOOK,
    ("backend/accounts/pages/views.py", "form_valid"): HOOK,
    ("backend/api/urls.py", "app_name"): HOOK,
    ("backend/*/api/*.py", "*"): DOCUMENT,
    ("backend/api/*.py", "*"): DOCUMENT,
    ("backend/core/*.py", "process_*"): HOOK,
    ("backend/site/*.py", "process_*"): HOOK,
    ("backend/site/*forms.py", "*_value"): HOOK,
    ("backend/bills/services/*.py", "readinto"): "io.BufferedReader reads with it",
    ("backend/catalog/calc/tables/table_files.py", "Start*Handler"): "expat calls them",
    ("backend/core/shared_files.py", "persistent_*"): "pickle calls them",
    ("backend/core/redis_cache.py", "_class"): "Django's cache makes its client of it",
    ("backend/core/rest/*.py", "*"): HOOK,
    ("backend/core/rest/openapi.py", "get_o*"): HOOK,
    ("backend/core/rest/throttles.py", "allow_request"): HOOK,
    ("backend/core/rest/views.py", "select_renderer"): HOOK,
    ("backend/core/rest/workbook.py", "_xml_number_element"): HOOK,
    ("backend/api/openapi.py", "get_security_requirement"): HOOK,
    ("backend/api/openapi.py", "DocumentExtension"): HOOK,
    ("backend/api/openapi.py", "AnswerFieldExtension"): HOOK,
    ("backend/api/openapi.py", "get_name"): HOOK,
    ("backend/api/openapi.py", "map_serializer"): HOOK,
    ("backend/api/openapi.py", "map_serializer_field"): HOOK,
    ("backend/*.py", "model_config"): "pydantic reads it",
    ("backend/benchmarks/calc/*.py", "schema_version"): "read with the document",
    ("backend/*/admin.py", "get_readonly_fields"): HOOK,
    ("backend/*/pages/*forms.py", "*_value"): HOOK,
    ("backend/site/provider_styles.py", "ignore_patterns"): HOOK,
    ("backend/providers/ovh/driver.py", "auth_flow"): "httpx calls it to sign",
    ("backend/providers/ovh/driver.py", "requires_response_body"): "httpx reads it",
    ("backend/accounts/models.py", "get_throttle_factor"): "django-otp asks after a failure",
    ("backend/providers/azure/library.py", "get_token"): "azure-core calls it for each request",
    ("backend/providers/azure/library.py", "TokenCredential"): ANNOTATION,
    ("workers/remote/presented.py", "connection_made"): HOOK,
    ("workers/remote/ssh.py", "validate_host_public_key"): HOOK,
    ("workers/remote/ssh.py", "auth_banner_received"): HOOK,
    ("workers/remote/ssh.py", "addr"): "asyncssh passes it by position",
    ("workers/remote/ssh.py", "lang"): "asyncssh passes it by position",
    ("backend/providers/ecb/rates.py", "Start*Handler"): "expat calls it",
    ("backend/rankings/pages/ranking/page.py", "*_separator"): "json reads it from the encoder",
    ("backend/*/models/*.py", "*"): "column that queries name as a keyword or a string",
    ("backend/accounts/models.py", "calls_*"): "column that SQL names",
    ("backend/notifications/models.py", "sent_at"): "column that queries name as a keyword",
    ("backend/scenarios/models.py", "woken_at"): "column that queries name as a keyword",
    ("backend/rankings/selectors/rows.py", "*"): "COLUMNS names it",
    ("backend/*/pages/*forms.py", "*"): FORM,
    ("backend/calculators/pages/arrays.py", "bus"): FORM,
    ("backend/calculators/pages/arrays.py", "seen_*"): FORM,
    ("backend/calculators/pages/memory.py", "runs_at"): FORM,
    ("backend/catalog/calc/hardware.py", "*"): RESULT,
    ("backend/scenarios/calc/tornado.py", "winner_*"): RESULT,
    ("backend/measure/readers/inventory*.py", "*"): FACTS,
    ("backend/measure/readers/observe.py", "*"): FACTS,
    ("workers/remote/connections.py", "_closing"): "keeps the task from being collected",
    ("workers/remote/probes/build.py", "sources_sha256"): "compared as part of the record",
    ("backend/providers/aws/offer_file.py", "_csv"): ANNOTATION,
    ("backend/benchmarks/pages/imports/forms.py", "UploadedFile"): ANNOTATION,
}
# Not reached yet, and what is to become of it. Nothing is added here.
WAITING = {
    ("backend/*/services/resources.py", "seen_at"): "written, never read: to be shown or dropped",
    ("backend/money/price_lists/*.py", "gpu_count"): "read from lists, has no column yet",
}


def _names_in_templates() -> set[str]:
    tags = (tag for page in TEMPLATES.rglob("*.html") for tag in TAG.findall(page.read_text()))
    return {name for tag in tags for name in re.findall(r"\w+", tag)}


def _names_in_dotted_strings(paths: list[Path]) -> set[str]:
    """Last parts of "package.module.Name" and "package.module:Name", which import_string loads."""
    matches = (
        DOTTED.fullmatch(node.value)
        for path in paths
        for node in sources.nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {match["name"] for match in matches if match}


def _unused() -> list[Item]:
    """What vulture lists, and neither a template nor a dotted string names."""
    config = make_config(argv=["--config", str(ROOT / "pyproject.toml")])
    scan = Vulture(
        ignore_names=config["ignore_names"], ignore_decorators=config["ignore_decorators"]
    )
    folders = [ROOT / folder for folder in config["paths"]]
    scan.scavenge(folders, exclude=config["exclude"])
    modules = [path for folder in config["paths"] for path in sources.files(folder)]
    named = _names_in_templates() | _names_in_dotted_strings(modules)
    return [item for item in scan.get_unused_code() if item.name not in named]


def _explains(entry: tuple[str, str], item: Item, path: str) -> bool:
    """A bare * is for fields alone: a function or class is named."""
    is_field = item.typ in {"variable", "attribute"}
    return (
        fnmatch(path, entry[0]) and fnmatch(item.name, entry[1]) and (is_field or entry[1] != "*")
    )


def test_all_code_is_reached() -> None:
    used = set()
    unexplained = []
    for item in _unused():
        path = item.filename.relative_to(ROOT).as_posix()
        entries = [entry for entry in REACHED | WAITING if _explains(entry, item, path)]
        used.update(entries)
        if not entries:
            unexplained.append(f"{path}:{item.first_lineno}: {item.typ} {item.name}")
    assert not unexplained, "\n".join(["nothing reaches:", *unexplained])
    assert set(REACHED) <= used, "entries that nothing needs any more"
