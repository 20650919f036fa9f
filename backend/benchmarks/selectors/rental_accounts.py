"""From which account a machine is rented, and what that decides of it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from backend.accounts.models import CloudAccount
from backend.catalog.models import Offer, OfferKind, VcpuKind
from backend.providers.registry import provider as provider_record


def accounts_enabled(workspace_id: UUID) -> list[CloudAccount]:
    """Accounts that may rent machines."""
    # The oldest first (their order), so that the choice is the same for every run.
    return list(CloudAccount.objects.filter(workspace=workspace_id, is_enabled=True))


def renting_account(accounts: Sequence[CloudAccount], offer: Offer) -> CloudAccount | None:
    """The one that rents machines of the offer (with provider and region)."""
    return next((account for account in accounts if _rents(account, offer)), None)


def is_rentable(offer: Offer) -> bool:
    """True if an account could rent machines of the offer (with provider). A dedicated server has a
    setup fee and a term: people order it."""
    is_bought = offer.kind in {OfferKind.DEDICATED, OfferKind.ONPREM}
    return provider_record(offer.provider.slug).rents_machines and not is_bought


def _rents(account: CloudAccount, offer: Offer) -> bool:
    regions = account.settings.get("regions", [])
    return (
        is_rentable(offer)
        and account.provider == offer.provider.slug
        and offer.region is not None
        and offer.region.code in regions
    )


def credit_modes(offer: Offer) -> tuple[str, ...]:
    """Modes of CPU credits in which machines of the offer (with provider) are rented; the first
    unless another one is chosen, and none where it has no credits."""
    is_burstable = offer.vcpu_kind == VcpuKind.BURSTABLE
    return provider_record(offer.provider.slug).credit_modes if is_burstable else ()


def credit_mode(
    account: CloudAccount | None, offer: Offer, parameters: Mapping[str, object]
) -> str:
    """Behaviour of a machine of the offer (with provider) without CPU credits: as the run says,
    else the account, else the provider's own first mode; "" where it has none."""
    if not (modes := credit_modes(offer)):
        return ""
    of_account = account.settings.get("credit_mode") if account else None
    chosen = str(parameters.get("credit_mode") or of_account)
    # A campaign may hold offers of others, who sell one mode only.
    return chosen if chosen in modes else modes[0]
