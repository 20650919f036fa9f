"""Writes of scenarios: keep, change, copy, freeze and remove."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.core import clock
from backend.core.applying import Applied
from backend.core.slugs import free_slug, slug_base
from backend.foundation.errors import DomainError, InvalidDocument, InvalidValue
from backend.foundation.reading.texts import why_not_kept
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.scenarios import simulate_document, storable

RESERVED = frozenset({"new", "simulate", "compare", "preview"})
# Of a document that is kept.
MOST_BYTES = 8_000_000
MOST_NAME = 100
MOST_NOTE = 20_000


class ScenarioFrozen(DomainError):
    """A frozen scenario never changes."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(f"{scenario.slug} was frozen on {scenario.frozen_at:%Y-%m-%d}; copy it")


@transaction.atomic
def scenario_create(
    *, workspace: Workspace, document: object, actor: str, template: str = "", slug: str = ""
) -> Scenario:
    """Keep a document under its name; the slug is made of it, or of `slug`.

    Raises InvalidDocument with everything that is wrong; nothing is kept then.
    """
    if template and template not in TEMPLATES:
        raise InvalidDocument([("/template", f"{template[:40]!r} is not a template")])
    kept = _check_document(workspace, document)
    scenario = _store(workspace, kept, actor, template, slug)
    _record(scenario, actor, "scenario_create", {"template": template})
    return scenario


@transaction.atomic
def scenario_update(*, scenario: Scenario, document: object, actor: str) -> Scenario:
    """Replace its document; the slug stays.

    Raises ScenarioFrozen, or InvalidDocument with everything that is wrong.
    """
    locked = _lock_scenario(scenario)
    kept = _check_document(locked.workspace, document)
    # What changes nothing leaves no entry in the audit trail.
    if kept == locked.document:
        return locked
    changed = [name for name in kept if kept[name] != locked.document.get(name)]
    gone = [name for name in locked.document if name not in kept]
    locked.document, locked.name = kept, kept["name"]
    locked.save()
    _record(locked, actor, "scenario_update", {"changed": sorted([*changed, *gone])})
    return locked


@transaction.atomic
def scenarios_apply(
    *, workspace: Workspace, items: Sequence[Mapping[str, Any]], actor: str, is_dry: bool
) -> Applied:
    """Make scenarios what exported ones say, by their slugs; others are made under the same slugs.

    Raises InvalidDocument with every fault, below /items/<n>; nothing is changed then.
    """
    applied = Applied(is_dry)
    known = {scenario.slug: scenario for scenario in Scenario.objects.filter(workspace=workspace)}
    for index, item in enumerate(items):
        slug, document = item["slug"], item["document"]
        with applied.faults_at(f"/items/{index}"):
            if slug in known and storable(document) == known[slug].document:
                applied.unchanged += 1
            elif slug in known:
                scenario_update(scenario=known[slug], document=document, actor=actor)
                applied.changed.append(slug)
            else:
                template = item["template"] or ""
                made = scenario_create(
                    workspace=workspace,
                    document=document,
                    actor=actor,
                    template=template,
                    slug=slug,
                )
                known[made.slug] = made
                applied.created.append(made.slug)
    applied.finish()
    return applied


@transaction.atomic
def scenario_duplicate(*, scenario: Scenario, actor: str) -> Scenario:
    """A copy that may be changed, also of a frozen one."""
    words = f"{scenario.name[: MOST_NAME - 5]} copy"
    document = {**scenario.document, "name": words}
    copy = _store(scenario.workspace, document, actor, scenario.template)
    _record(copy, actor, "scenario_duplicate", {"of": scenario.slug})
    return copy


@transaction.atomic
def scenario_freeze(*, scenario: Scenario, note: str = "", actor: str) -> Scenario:
    """Keep document, prices, scores and result as they are now, for good.

    Raises ScenarioFrozen; InvalidDocument where the document has no result any more; InvalidValue
    for a note that is too long or no text.
    """
    if len(note) > MOST_NOTE or why_not_kept(note):
        raise InvalidValue("/note", f"text of at most {MOST_NOTE} characters is needed")
    locked = _lock_scenario(scenario)
    now = simulate_document(locked.document, workspace_slug=locked.workspace.slug)
    locked.resolved, locked.result = storable(now.resolved), now.result
    locked.data_version, locked.note, locked.frozen_at = now.data_version, note, clock.now()
    locked.save()
    detail = {"data_version": now.data_version, "input_sha256": now.result["input_sha256"]}
    _record(locked, actor, "scenario_freeze", detail)
    return locked


@transaction.atomic
def scenario_delete(*, scenario: Scenario, actor: str) -> None:
    """Take a scenario away, frozen or not; the audit trail keeps that it was."""
    _record(scenario, actor, "scenario_delete", {})
    scenario.delete()


def _lock_scenario(scenario: Scenario) -> Scenario:
    rows = Scenario.objects.select_related("workspace").select_for_update(of=("self",))
    locked = rows.get(pk=scenario.pk)
    if locked.frozen_at is not None:
        raise ScenarioFrozen(locked)
    return locked


def _check_document(workspace: Workspace, document: object) -> dict[str, Any]:
    """The document as it is kept, after it has had a result."""
    # Calculated before it is kept, so that nothing is stored that has no result.
    simulate_document(document, workspace_slug=workspace.slug)
    kept: dict[str, Any] = storable(document)
    name = kept.get("name")
    if not isinstance(name, str) or not name.strip() or len(name.strip()) > MOST_NAME:
        raise InvalidDocument([("/name", f"1 to {MOST_NAME} characters are needed")])
    if why := why_not_kept(kept):
        raise InvalidDocument([("", why)])
    if len(json.dumps(kept)) > MOST_BYTES:
        raise InvalidDocument([("", f"more than {MOST_BYTES} bytes cannot be kept")])
    return kept | {"name": name.strip()}


def _store(
    workspace: Workspace, document: dict[str, Any], actor: str, template: str, slug: str = ""
) -> Scenario:
    scenario = Scenario(
        workspace=workspace,
        slug=_slug(workspace, slug or document["name"]),
        name=document["name"],
        document=document,
        template=template,
        created_by=actor,
    )
    try:
        # A savepoint: after an error PostgreSQL takes no more statements in a transaction.
        with transaction.atomic():
            scenario.save(force_insert=True)
    except IntegrityError:
        raise InvalidValue("/name", f"{scenario.slug!r} was taken just now; try again") from None
    return scenario


def _slug(workspace: Workspace, name: str) -> str:
    """The first free slug made of the name."""
    base = slug_base(name, "scenario")
    taken = Scenario.objects.filter(workspace=workspace, slug__startswith=base)
    # Slugs share their address with pages of those names.
    return free_slug(base, RESERVED | set(taken.values_list("slug", flat=True)))


def _record(scenario: Scenario, actor: str, action: str, detail: Mapping[str, Any]) -> None:
    audit_record(
        actor=actor,
        action=action,
        target=scenario,
        detail={"slug": scenario.slug, "name": scenario.name, **detail},
    )
