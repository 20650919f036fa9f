"""Own hardware: a document and what it comes to, as a price of an offer of one's own.

The price is monthly and in the currency as bought, so that a machine of one's own is ranked under
the default term beside what is rented without a commitment. Documents and prices are only added.
"""

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.catalog.calc.hardware import HardwareCost, cost_document, monthly_cost
from backend.catalog.calc.hardware_document import (
    HardwareDocument,
    OfferedHardwareDocument,
    hardware_document,
)
from backend.catalog.models import HardwareModel, Offer, OfferKind
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.offers import own_offer_create
from backend.catalog.services.prices import (
    OF_HARDWARE,
    PriceInput,
    price_delete,
    price_observation_create,
)
from backend.foundation.errors import InvalidValue
from backend.money.pricing.quoted import LARGEST_AMOUNT, LEAST_AMOUNT, kept

OFFER = "offer"
GIB = 2**30


def calculate_hardware(document: object) -> tuple[HardwareDocument, HardwareCost]:
    """Cost of the machines that a document describes, without storing anything.

    Raises InvalidDocument with everything that is wrong with it; InvalidValue for a cost that is no
    price.
    """
    return _calculate(OfferedHardwareDocument.read(document))


def _calculate(document: OfferedHardwareDocument) -> tuple[HardwareDocument, HardwareCost]:
    hardware = document.hardware
    cost = monthly_cost(hardware)
    if not LEAST_AMOUNT <= cost.price_per_month < LARGEST_AMOUNT:
        detail = f"a server costs {cost.price_per_month:.3g} a month: not above 0 and below 10^10"
        raise InvalidValue("/items", detail)
    return hardware, cost


@transaction.atomic
def hardware_create(*, workspace: Workspace, document: object, actor: str) -> HardwareModel:
    """Keep a document of own hardware (design document, schema 1) with its price.

    A name that is known makes the next version, priced as a new observation of the same offer.
    `offer` is the slug of a machine of the workspace; without one, `own-<slug of the name>` is
    made. Raises InvalidDocument or InvalidValue by JSON pointer.
    """
    read = OfferedHardwareDocument.read(document)
    hardware, cost = _calculate(read)
    # Two versions at once would both take the next number.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    last = HardwareModel.objects.filter(workspace=workspace, name=hardware.name).first()
    offer = _offer(workspace, read.offer, hardware, last)
    _describe(offer, hardware)
    version = last.version + 1 if last else 1
    price = price_observation_create(
        offer=offer,
        # Bought is paid for its whole life, whether it is used or not.
        price=PriceInput(
            kept(cost.price_per_month),
            cost.currency,
            "month",
            minimum_months=hardware.life_months,
        ),
        source=f"{OF_HARDWARE}{hardware.name} version {version}",
        is_judged=False,
    )
    model = HardwareModel.objects.create(
        workspace=workspace,
        name=hardware.name,
        version=version,
        document=hardware_document(hardware),
        cost=cost_document(cost),
        offer=offer,
        price=price,
        created_by=actor,
    )
    audit_record(
        actor=actor,
        action="hardware_create",
        target=model,
        detail={"name": model.name, "version": version, "offer": offer.slug},
    )
    return model


@transaction.atomic
def hardware_delete(*, model: HardwareModel, actor: str) -> None:
    """Delete one version with the price that it gave; its offer and the other versions stay.

    Raises InvalidValue where the costs of runs were calculated with that price.
    """
    audit_record(
        actor=actor,
        action="hardware_delete",
        target=model,
        detail={"name": model.name, "version": model.version, "offer": model.offer.slug},
    )
    price = model.price
    model.delete()
    price_delete(observation=price)


def _describe(offer: Offer, hardware: HardwareDocument) -> None:
    """Puts what is stated of one server into its offer, so that it can be compared."""
    memory = hardware.memory_gib
    facts = {
        "cpu_model": hardware.cpu,
        "vcpu_count": hardware.threads or hardware.cores,
        "thread_count": hardware.threads,
        "memory_bytes": None if memory is None else int(memory * GIB),
    }
    stated = {name: value for name, value in facts.items() if value is not None}
    for name, value in stated.items():
        setattr(offer, name, value)
    if stated:
        offer.save(update_fields=list(stated))


def _offer(
    workspace: Workspace, slug: str | None, hardware: HardwareDocument, last: HardwareModel | None
) -> Offer:
    if last is not None:
        # The earlier versions' prices would go on pricing another offer.
        if slug is not None and slug != last.offer.slug:
            detail = f"{hardware.name!r} prices {last.offer.slug}; another offer needs another name"
            raise InvalidValue(f"/{OFFER}", detail)
        return last.offer
    if slug is None:
        return own_offer_create(workspace=workspace, name=hardware.name, kind=OfferKind.ONPREM)
    offer = offers_visible(workspace.slug).filter(slug=slug.replace("\0", "")).first()
    if offer is None:
        raise InvalidValue(f"/{OFFER}", f"no offer is called {slug[:120]!r}")
    if offer.workspace_id != workspace.pk:
        raise InvalidValue(f"/{OFFER}", f"{offer.slug} is sold by its provider, not a machine here")
    return offer
