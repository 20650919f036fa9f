"""Which samples of an offer are alike, so that one score may pool them.

Alike are samples of one method, of one target, and of machines with the same hardware. Machines of one offer may
have different models of CPU: that is the mixture which a buyer meets. One machine whose model
changed is another machine than it was.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from backend.benchmarks.calc.regression import HARDWARE, Environment, changes

CPU_MODEL = ("cpu_model",)
SIZE = tuple(name for name in HARDWARE if name not in CPU_MODEL)
# Before version 1 it is the second number that a tool changes with what it does.
MINOR_VERSION = re.compile(r"(?<![0-9.])(0\.[0-9]+|[1-9][0-9]*)\.[0-9][0-9A-Za-z.~+-]*")

Sample = TypeVar("Sample")


class Origin(NamedTuple):
    """How and on what a sample was measured; of the environment what is known of it."""

    method_version: str
    host: str
    environment: Environment
    target: str = ""


@dataclass
class AlikeSamples(Generic[Sample]):
    """Samples that one score pools, newest first, with the CPU model of each host.

    An unknown model is "", which no known one contradicts.
    """

    method: str
    target: str = ""
    machine: dict[str, object] = field(default_factory=dict)
    cpu_models: dict[str, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def takes(self, origin: Origin) -> bool:
        """True if a sample of this origin is alike; what is not stated is no difference."""
        model = {"cpu_model": self.cpu_models.get(origin.host) or None}
        return (
            self.method == method_of(origin.method_version)
            and self.target == origin.target
            and not changes(self.machine, origin.environment, SIZE)
            and not changes(model, origin.environment, CPU_MODEL)
        )

    def learn(self, origin: Origin) -> None:
        """Keep what the machine of this origin tells beyond what is known."""
        known = {name: origin.environment.get(name) for name in SIZE}
        self.machine = {k: v for k, v in known.items() if v is not None} | self.machine
        model = str(origin.environment.get("cpu_model") or "")
        self.cpu_models[origin.host] = self.cpu_models.get(origin.host) or model


def alike(
    samples: Iterable[Sample],
    key_of: Callable[[Sample], Hashable],
    origin_of: Callable[[Sample], Origin],
) -> list[AlikeSamples[Sample]]:
    """The samples, given newest first, in groups of those that are alike: the newest group first.

    Samples of one key have one origin, which is looked at once: a group only learns, so that it goes
    on taking what it took, and refusing what it refused.
    """
    groups: list[AlikeSamples[Sample]] = []
    known: dict[Hashable, AlikeSamples[Sample]] = {}
    for sample in samples:
        key = key_of(sample)
        group = known.get(key)
        if group is None:
            origin = origin_of(sample)
            group = next((members for members in groups if members.takes(origin)), None)
            if group is None:
                group = AlikeSamples(method_of(origin.method_version), origin.target)
                groups.append(group)
            group.learn(origin)
            known[key] = group
        group.samples.append(sample)
    return groups


def method_of(version: str) -> str:
    """The method that a version names: of a tool's own number only the major part counts."""
    return MINOR_VERSION.sub(r"\1", version)
