"""JSON that means one thing: no key twice in an object, and numbers that keep their digits."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any, ClassVar

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

ENCODING = "utf-8"


class SingleKeysJSONParser(JSONParser):
    """An object with the same key twice is refused, as are NaN and Infinity."""

    number: ClassVar[type[float | Decimal]] = float
    """Number type for numbers with a point or an exponent."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            text = stream.read().decode(ENCODING)
            return json.loads(
                text,
                parse_float=self.number,
                # NaN and Infinity are no JSON.
                parse_constant=_refuse,
                object_pairs_hook=_object,
            )
        except ValueError as error:
            raise ParseError(f"the body is no JSON: {error}") from None


class ExactJSONParser(SingleKeysJSONParser):
    """Numbers with a point or an exponent are Decimal: a float would round amounts before anything
    has looked at them."""

    number = Decimal


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in made if names.count(name) > 1)
        # Which of the values is meant nobody knows: the last one would win silently.
        raise ParseError(f"the key {doubled[:60]!r} stands twice in one object of the body")
    return made


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")
