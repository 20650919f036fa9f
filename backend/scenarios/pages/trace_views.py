"""A recorded demand becomes a scenario: CSV, or what CloudWatch and Prometheus export."""

from pathlib import PurePath
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.core.bodies import takes_files
from backend.core.work import calculation
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.foundation.reading.encodings import text_of
from backend.scenarios.calc.recorded import steps_of, with_recorded_demand
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.calc.trace_files import STATISTICS, import_trace
from backend.scenarios.calc.traces import MOST_POINTS
from backend.scenarios.models import Scenario
from backend.scenarios.services.scenarios import scenario_create
from backend.site import number_fields
from backend.site.access import demand, readable
from backend.site.forms import WriteForm, text
from backend.site.language import _, lazy, localize


class TraceForm(WriteForm):
    """The recording, and which of its series is meant."""

    file = forms.FileField(
        label=lazy("Recording"),
        help_text=lazy(
            "CSV with a time and a value a line (up to {most}), or the JSON of CloudWatch"
            " (get-metric-data, get-metric-statistics) or Prometheus (query_range).",
            most=localize(f"{MOST_POINTS:,}"),
        ),
    )
    name = text(lazy("Name"), required=False, placeholder=lazy("of the file"), maxlength=100)
    step_s = number_fields.IntegerField(
        label=lazy("Step, seconds"),
        required=False,
        min_value=1,
        max_value=86_400,
        help_text=lazy(
            "Must divide a day evenly. Leave blank for the usual distance of the points."
        ),
    )
    series = text(
        lazy("Series"), required=False, placeholder="label", help_text=lazy("One of several.")
    )
    statistic = forms.ChoiceField(
        label=lazy("Statistic"),
        required=False,
        choices=[("", lazy("the only one")), *((name, name) for name in STATISTICS)],
    )
    template = forms.ChoiceField(
        label=lazy("Options from the template"),
        choices=[(key, template.title) for key, template in TEMPLATES.items()],
    )


@takes_files
@readable
@require_http_methods(["GET", "HEAD", "POST"])
def scenario_trace(request: HttpRequest) -> HttpResponse:
    """The form; a recording that is sound is kept as a scenario and opened in the editor."""
    demand(request, Scope.WRITE)
    form = TraceForm(request.POST or None, request.FILES or None, initial={"template": "startup"})
    if request.method == "POST" and form.is_valid():
        try:
            # What a line of a recording takes to read is what some forty steps do.
            steps = form.cleaned_data["file"].size
            with calculation(steps, advice=_("leave points out, or take longer steps")):
                scenario = _keep_trace(request, form.cleaned_data)
        except InvalidDocument as error:
            for field, detail in error.errors:
                form.add_error(None, f"{field.removeprefix('/')}: {detail}")
        except InvalidValue as error:
            form.add_error("step_s" if "step_s" in error.field else "file", str(error))
        else:
            for remark in scenario.document["demand"]["remarks"]:
                messages.warning(request, _("Mind: {remark}.", remark=remark))
            return HttpResponseRedirect(reverse("scenario", args=[scenario.slug]))
    return render(request, "scenarios/trace.html", {"form": form})


def _keep_trace(request: HttpRequest, data: dict[str, Any]) -> Scenario:
    try:
        trace = import_trace(
            text_of(data["file"]), series=data["series"], statistic=data["statistic"]
        )
    except UnicodeDecodeError:
        raise InvalidValue("file", _("is no text in UTF-8")) from None
    document = with_recorded_demand(
        trace,
        steps_of(trace, data["step_s"]),
        TEMPLATES[data["template"]].document,
        name=data["name"] or _("Demand of {name}", name=PurePath(data["file"].name).name)[:100],
    )
    return scenario_create(
        workspace=workspace_of(request),
        document=document,
        actor=request.user.get_username(),
        template=data["template"],
    )
