"""An offer over the API: read as a ranking has it, changed and deleted where it is one's own."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.services.offers import OfferInUse, offer_delete
from backend.catalog.models import Offer, OfferKind, VcpuKind
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.offers import MOST_NAME, offer_update
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import Strict, TextField
from backend.core.rest.parameters import printable
from backend.core.rest.permissions import WRITE
from backend.core.rest.problem import Conflict
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.rankings.api.rankings import OFFER_SCHEMA, OfferView
from backend.search.selectors.mentions import offer_mentions

MOST_THREADS = 2**31 - 1
MOST_SIZE = Decimal(1_000_000)
SIZES = {"ram_gib": ("memory_bytes", BYTES_PER_GIB), "disk_gb": ("disk_bytes", BYTES_PER_GB)}


def _amount(**given: Any) -> serializers.DecimalField:
    return serializers.DecimalField(
        min_value=Decimal("0.001"), allow_null=True, required=False, **given
    )


class OfferChange(Strict):
    """Changed fields of an offer of one's own; what is left out stays, null is not known."""

    name = TextField(max_length=MOST_NAME, required=False)
    kind = serializers.ChoiceField(choices=OfferKind.values, required=False)
    note = TextField(max_length=2_000, allow_blank=True, required=False)
    arch = TextField(max_length=10, allow_blank=True, required=False)
    cpu_model = TextField(max_length=150, allow_blank=True, required=False)
    vcpu = _amount(source="vcpu_count", max_digits=8, decimal_places=3)
    vcpu_kind = serializers.ChoiceField(choices=VcpuKind.values, allow_blank=True, required=False)
    threads = serializers.IntegerField(
        source="thread_count", min_value=1, max_value=MOST_THREADS, allow_null=True, required=False
    )
    ram_gib = _amount(max_digits=20, decimal_places=6, max_value=MOST_SIZE)
    disk_gb = _amount(max_digits=20, decimal_places=6, max_value=MOST_SIZE)
    disk_kind = TextField(max_length=20, allow_blank=True, required=False)
    discontinued_on = serializers.DateField(
        allow_null=True,
        required=False,
        help_text="the day from which it cannot be bought: it is retired, its figures stay",
    )


class OneOfferView(OfferView):
    """An offer: its place among all, its prices, and every metric known of it."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(operation_id="offers_update", request=OfferChange, responses={200: OFFER_SCHEMA})
    def patch(self, request: Request, slug: str, **_: Any) -> Response:
        """Change or retire an offer of one's own; its slug stays."""
        document = OfferChange(data=request.data)
        document.is_valid(raise_exception=True)
        changes = dict(document.validated_data)
        for name, (column, unit_bytes) in SIZES.items():
            if name in changes:
                size = changes.pop(name)
                changes[column] = None if size is None else int(size * unit_bytes)
        offer_update(
            workspace=workspace_of(request),
            offer=_offer(request, slug),
            changes=changes,
            actor=actor(request),
        )
        return self.get(request, slug)

    @deleting("offers_delete")
    def delete(self, request: Request, slug: str, **_: Any) -> Response:
        """Delete an offer of one's own with its prices and imported results. 409 where hosts or runs
        are of it: it can be retired then."""
        workspace, offer = workspace_of(request), _offer(request, slug)
        try:
            return delete_response(
                request,
                partial(offer_mentions, offer, workspace),
                partial(offer_delete, workspace=workspace, offer=offer, actor=actor(request)),
            )
        except OfferInUse as error:
            raise Conflict(str(error)) from error


def _offer(request: Request, slug: str) -> Offer:
    offer = offers_visible(workspace_of(request).slug).filter(slug=slug).first()
    if offer is None:
        raise Http404(f"there is no offer {printable(slug)!r}")
    return offer
