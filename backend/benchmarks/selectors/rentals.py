"""Terms settled before a machine is rented: account, place and price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.accounts.models import CloudAccount, Workspace
from backend.benchmarks.models import Host, HostState, Resource, ResourcePurchase, Run
from backend.benchmarks.selectors.rental_accounts import (
    accounts_enabled,
    credit_mode,
    credit_modes,
    is_rentable,
    renting_account,
)
from backend.benchmarks.selectors.rental_prices import (
    RentalPrice,
    rental_life_s,
    rental_price,
    rental_prices,
)
from backend.catalog.models import Offer
from backend.catalog.selectors.extras import tariffs
from backend.catalog.selectors.rates import currencies
from backend.foundation.errors import InvalidValue
from backend.providers.rentals import Budget

DEFAULT_ARCH = "x86_64"


@dataclass(frozen=True)
class Rental:
    """Terms settled before a machine is rented: place, account and price."""

    offer: Offer
    account: CloudAccount
    price: RentalPrice
    is_spot: bool
    credit_mode: str
    """Behaviour without CPU credits; "" where it has none."""
    bastion: Host | None
    """Through which its machine is logged in to."""


def rentals(
    *,
    workspace: Workspace,
    offers: Sequence[Offer],
    parameters: Mapping[str, object],
    field: str = "/offer",
) -> list[Rental]:
    """How each of the offers (with provider and region) would be rented for a run with the parameters.

    Raises InvalidValue for one that cannot be; "{}" in `field` becomes its index.
    """
    is_spot = parameters.get("purchase_model") == ResourcePurchase.SPOT
    prices = rental_prices([offer.pk for offer in offers], is_spot=is_spot)
    accounts, known = accounts_enabled(workspace.pk), tariffs()
    _check_credits(offers, parameters)
    planned = []
    for index, offer in enumerate(offers):
        pointer = field.format(index)
        region = offer.region
        if region is None:
            raise InvalidValue(pointer, f"{offer.slug} is of no region: nothing can be rented")
        if not is_rentable(offer):
            raise InvalidValue(pointer, f"{offer.slug} is not rented by the hour")
        account = renting_account(accounts, offer)
        if account is None:
            raise InvalidValue(
                pointer, f"no account rents machines of {offer.provider.slug} in {region.code}"
            )
        mode = credit_mode(account, offer, parameters)
        price = rental_price(prices.get(offer.pk), offer, mode, account, known)
        if price is None:
            raise InvalidValue(pointer, f"no price is known for {offer.slug}: nothing is reserved")
        bastion = _bastion(account, pointer)
        planned.append(Rental(offer, account, price, is_spot, mode, bastion))
    return planned


def _check_credits(offers: Sequence[Offer], parameters: Mapping[str, object]) -> None:
    """Raises InvalidValue for a mode of CPU credits that none of the offers is sold in."""
    mode = parameters.get("credit_mode")
    if mode is not None and not any(mode in credit_modes(offer) for offer in offers):
        raise InvalidValue("/parameters/credit_mode", f"no offer is sold with {mode} CPU credits")


def _bastion(account: CloudAccount, pointer: str) -> Host | None:
    """The host that leads to machines of the account; raises InvalidValue without an approved one."""
    if not (name := account.settings.get("bastion")):
        return None
    hosts = Host.objects.filter(workspace_id=account.workspace_id, name=name, is_rented=False)
    host = hosts.filter(state=HostState.TRUSTED).first()
    if host is None:
        raise InvalidValue(pointer, f"the account's bastion {name} is no approved host")
    return host


def check_currency(budget: Budget | None) -> None:
    """Raises InvalidValue("/budget/currency") for one that nothing can be compared with."""
    if budget is not None and budget.currency not in currencies():
        raise InvalidValue("/budget/currency", f"no exchange rate is known for {budget.currency}")


def build_rental_host(run: Run, rental: Rental) -> Host:
    """The host, not saved, that the run's machine will be."""
    host = Host(workspace_id=run.workspace_id, offer=run.offer, driver="static", is_rented=True)
    host.bastion = rental.bastion
    # Within the 100 characters of a name, and of its own: an offer is rented many times.
    host.name = f"{run.offer.name[:90]} {str(run.pk)[:8]}"
    return host


def build_resource(run: Run, rental: Rental, budget: Budget | None) -> Resource:
    """The machine, not saved, of a run by offer; its id is the launch token."""
    purchase = ResourcePurchase.SPOT if rental.is_spot else ResourcePurchase.ON_DEMAND
    region = rental.offer.region
    return Resource(
        workspace_id=run.workspace_id,
        account=rental.account,
        run=run,
        offer=rental.offer,
        purchase_model=purchase,
        credit_mode=rental.credit_mode,
        region=region.code if region else "",
        machine_type=rental.offer.name,
        arch=rental.offer.arch or DEFAULT_ARCH,
        price_id=rental.price.observation_id,
        lifetime_s=rental_life_s(run.profile, run.parameters),
        budget_amount=budget.amount if budget else None,
        budget_currency=budget.currency if budget else "",
    )
