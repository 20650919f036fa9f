"""Documents of hosts and runs as they go over the wire (schema 1)."""

from typing import Any

from rest_framework import serializers

from backend.benchmarks.services.host_lists import LIST_FORMATS, MAX_LIST_BYTES
from backend.catalog.models import OfferKind
from backend.core.rest.documents import Strict, TextField


class HostMade(serializers.Serializer[Any]):
    """A new host."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    state = serializers.CharField()
    login_key = serializers.CharField(allow_null=True)


class HostListDocument(Strict):
    """A list of hosts; `username` and `kind` are those of hosts that state none."""

    format = serializers.ChoiceField(choices=LIST_FORMATS)
    # Errors name the line, so blank lines at the begin have to stay.
    text = TextField(max_length=MAX_LIST_BYTES, trim_whitespace=False, required=False)
    file = serializers.FileField(
        required=False,
        allow_null=True,
        max_length=255,
        help_text="multipart only, instead of text; also XLSX",
    )
    username = TextField(max_length=64, allow_blank=True, required=False, default="")
    kind = serializers.ChoiceField(choices=OfferKind.values, default=OfferKind.DEDICATED.value)


class HostListDone(serializers.Serializer[Any]):
    """The outcome of a list of hosts."""

    added = serializers.ListField(child=serializers.UUIDField())
    approved = serializers.ListField(child=serializers.UUIDField())
    changed = serializers.ListField(
        child=serializers.UUIDField(), help_text="by lines of an exported list that differ"
    )
    authorities = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class ScannedKey(serializers.Serializer[Any]):
    """The key that a host presented."""

    key_type = serializers.CharField()
    fingerprint_sha256 = serializers.CharField()


class ApprovalDocument(Strict):
    """The fingerprint that a person compared and approves."""

    fingerprint_sha256 = TextField(max_length=100)


class HostStateSerializer(serializers.Serializer[Any]):
    """A host's state after an approval."""

    state = serializers.CharField()


class RunStateSerializer(serializers.Serializer[Any]):
    """A run just asked for, or asked to end."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    url = serializers.URLField()


class FailureSerializer(serializers.Serializer[Any]):
    """Why a run failed."""

    reason = serializers.CharField()
    detail = serializers.CharField()


class RunSample(serializers.Serializer[Any]):
    """A result of a run."""

    metric = serializers.CharField()
    variant = serializers.CharField()
    parameters = serializers.DictField()
    unit = serializers.CharField()
    value = serializers.FloatField()
    repeat = serializers.IntegerField()
    flags = serializers.ListField(child=serializers.CharField())
    evidence = serializers.IntegerField(allow_null=True)


class RunResult(serializers.Serializer[Any]):
    """A series of a run: the median of the repeats that count."""

    metric = serializers.CharField()
    variant = serializers.CharField()
    unit = serializers.CharField()
    median = serializers.FloatField()
    repeats = serializers.IntegerField()
    disturbed = serializers.IntegerField(help_text="repeats beside which something else ran")


class RunEvidence(serializers.Serializer[Any]):
    """A command with its raw output."""

    n = serializers.IntegerField()
    probe = serializers.CharField()
    variant = serializers.CharField()
    repeat = serializers.IntegerField()
    command = serializers.CharField()
    tool_version = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    url = serializers.URLField()
    series_url = serializers.URLField(allow_null=True)


class RunCost(serializers.Serializer[Any]):
    """The machine's cost in the run so far; the cap is the run's or the campaign's budget."""

    so_far = serializers.CharField(help_text="a decimal string, in millionths")
    currency = serializers.CharField()
    cap = serializers.CharField(allow_null=True)


class RunSilence(serializers.Serializer[Any]):
    """No sign of the host that is measured."""

    since = serializers.DateTimeField(help_text="its last sign")
    ends_at = serializers.DateTimeField(help_text="when the run is given up, should it stay silent")
    error = serializers.CharField(
        help_text="what the last try to reach it met; empty before the first"
    )


class RunDetail(serializers.Serializer[Any]):
    """A run with everything that it has brought so far."""

    id = serializers.UUIDField()
    labels = serializers.CharField(allow_null=True)
    host = serializers.UUIDField()
    offer = serializers.CharField()
    profile = serializers.CharField()
    state = serializers.CharField()
    progress = serializers.FloatField()
    environment = serializers.DictField(
        help_text="the machine as the run found it: kernel, microcode, CPU model, mitigations, …"
    )
    stage = serializers.CharField()
    probe = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    overhead_s = serializers.FloatField(allow_null=True)
    failure = FailureSerializer(allow_null=True)
    results = RunResult(many=True)
    samples = RunSample(many=True)
    evidence = RunEvidence(many=True)
    url = serializers.URLField()
    eta_s = serializers.FloatField(allow_null=True)
    silence = RunSilence(allow_null=True)
    cost = RunCost(allow_null=True)
