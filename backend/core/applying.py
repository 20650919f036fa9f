"""Many documents at once, taken as a whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import transaction

from backend.foundation.errors import DomainError, InvalidDocument, InvalidValue


@dataclass
class Faults:
    """Faults of documents that are taken together: all of them at once."""

    errors: list[tuple[str, str]] = field(default_factory=list, kw_only=True)
    """(JSON pointer, what is wrong)"""

    @contextmanager
    def faults_at(self, pointer: str) -> Iterator[None]:
        """Note the faults of one document and go on with the next; nothing stays of it."""
        try:
            with transaction.atomic():
                yield
        except (InvalidValue, InvalidDocument) as error:
            self.errors += [(f"{pointer}{field}", detail) for field, detail in error.errors]
        except DomainError as error:
            self.errors.append((pointer, str(error)))


@dataclass
class Applied(Faults):
    """The outcome of documents; `created` and `changed` have their names."""

    is_dry: bool
    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: int = 0

    def finish(self) -> None:
        """Within the transaction of all: raises InvalidDocument for faults, stores nothing of a dry run."""
        if self.errors:
            raise InvalidDocument(self.errors)
        if self.is_dry:
            transaction.set_rollback(True)
