"""Documents of hosts and runs as they go over the wire (schema 1)."""

from typing import Any

from rest_framework import serializers

from backend.benchmarks.services.host_lists import LIST_FORMATS, MAX_LIST_BYTES
from backend.catalog.models import OfferKind
from backend.common.rest.documents import AmountField, FlagField, Strict, TextField
from backend.domain.pricing.purchase import PriceUnit

PROFILES = ("quick", "standard", "full", "general")


class PriceDocument(Strict):
    """A price as stated by the host's owner."""

    amount = AmountField()
    # `$` would let a line feed at the end through.
    currency = serializers.RegexField(r"^[A-Z]{3}\Z")
    unit = serializers.ChoiceField(
        choices=[PriceUnit.HOUR.value, PriceUnit.MONTH.value, PriceUnit.YEAR.value]
    )
    setup = AmountField(required=False, allow_null=True, default=None)


class HostDocument(Strict):
    """A host to log in to over SSH; the private key is kept encrypted and never shown. Without one
    the host has to let in Rackrate's own key, which the answer shows."""

    name = TextField(max_length=100)
    address = TextField(max_length=255)
    port = serializers.IntegerField(min_value=1, max_value=65535, default=22)
    username = TextField(max_length=64)
    private_key = TextField(
        max_length=20_000,
        trim_whitespace=False,
        write_only=True,
        allow_blank=True,
        required=False,
        default="",
    )
    certificate = TextField(max_length=20_000, allow_blank=True, required=False, default="")
    is_in_production = FlagField(required=False, default=False)
    tags = serializers.ListField(child=TextField(max_length=40), required=False, default=list)
    offer = TextField(max_length=120, allow_null=True, required=False, default=None)
    kind = serializers.ChoiceField(choices=OfferKind.values, default=OfferKind.DEDICATED.value)
    price = PriceDocument(allow_null=True, required=False, default=None)
    bastion = serializers.UUIDField(allow_null=True, required=False, default=None)


class HostChange(Strict):
    """Changed fields of a host; what is left out stays."""

    name = TextField(max_length=100, required=False)
    address = TextField(max_length=255, required=False)
    port = serializers.IntegerField(min_value=1, max_value=65535, required=False)
    username = TextField(max_length=64, required=False)
    bastion = serializers.UUIDField(allow_null=True, required=False)
    private_key = TextField(
        max_length=20_000,
        allow_blank=True,
        required=False,
        trim_whitespace=False,
        help_text='another key to log in with; "" deletes the one that was given',
    )
    certificate = TextField(max_length=20_000, allow_blank=True, required=False)
    is_in_production = FlagField(required=False)
    tags = serializers.ListField(child=TextField(max_length=40), required=False)


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


class BudgetDocument(Strict):
    """The most that a rented machine may cost."""

    amount = AmountField()
    currency = serializers.RegexField(r"^[A-Z]{3}\Z")


class RunDocument(Strict):
    """A run of one profile, on exactly one of a host and an offer; a machine of the offer is rented
    for it, within the budget."""

    host = serializers.UUIDField(allow_null=True, required=False, default=None)
    offer = TextField(max_length=120, allow_null=True, required=False, default=None)
    profile = serializers.ChoiceField(choices=PROFILES)
    probes = serializers.ListField(
        child=TextField(max_length=20), allow_null=True, required=False, default=None
    )
    parameters = serializers.DictField(required=False, default=dict)
    labels = serializers.DictField(required=False, default=dict)
    budget = BudgetDocument(allow_null=True, required=False, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["host"] is None) == (attrs["offer"] is None):
            raise serializers.ValidationError({"host": "exactly one of host and offer is needed"})
        if attrs["offer"] is not None and attrs["budget"] is None:
            raise serializers.ValidationError({"budget": "an offer to rent needs a budget"})
        return attrs


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
