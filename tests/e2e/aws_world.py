"""AWS as a cloud to rent from: the faked one, by a role that it lends."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.money.pricing.purchase import PurchaseModel
from tests.e2e.worlds import TROUBLE, Life
from tests.fakes.aws import EXTERNAL_ID, REGION, ROLE, WORKER_KEY, WORKER_SECRET, FakeAws
from tests.fakes.aws_machines import CONSOLE_LATE, Rented

ALSO: Mapping[str, tuple[float, float]] = {CONSOLE_LATE: (0.25, 1.5)}


class AwsWorld(FakeAws):
    """With every fault that it knows but those that end a run for good."""

    provider, region, machine_type = "aws", REGION, "c6a.large"
    environment: Mapping[str, str] = {}
    are_ends_known = True
    purchase_model = PurchaseModel.ON_DEMAND
    begins_early_s = 0.0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.keep_port()

    def account(self) -> dict[str, Any]:
        settings = {
            "regions": [REGION],
            "endpoint_url": self.url,
            "ssh_port": self.machines.port,
            "role_arn": ROLE,
            "external_id": EXTERNAL_ID,
        }
        secret = {"access_key_id": WORKER_KEY, "secret_access_key": WORKER_SECRET}
        return {"access": "assume_role", "settings": settings, "secret": secret}

    def trouble(self, seed: int) -> None:
        self.seed(seed)
        for name, (probability, seconds) in [*TROUBLE.items(), *ALSO.items()]:
            self.fault(name, probability=probability, seconds=seconds)

    def happened(self) -> Counter[str]:
        return Counter(self.faults)

    def left(self) -> list[str]:
        return [f"{one.id} of {one.token}" for one in self.alive()] + self.parts()

    def lives(self) -> list[Life]:
        self.settle()
        launches = Counter(one.token for one in self.rented if not one.is_surplus)
        assert set(launches.values()) <= {1}, f"a token launched twice: {launches}"
        return [_life(rented) for rented in self.rented]


def _life(rented: Rented) -> Life:
    ended = rented.ended_at
    return Life(
        provider_id=rented.id,
        token=rented.token,
        began=dt.datetime.fromtimestamp(rented.launched_at, dt.UTC),
        ended=None if ended is None else dt.datetime.fromtimestamp(ended, dt.UTC),
    )
