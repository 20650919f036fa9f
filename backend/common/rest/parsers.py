"""JSON in which numbers keep their digits."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

ENCODING = "utf-8"


class ExactJSONParser(JSONParser):
    """Numbers with a point or an exponent are Decimal; NaN and Infinity are refused."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            text = stream.read().decode(ENCODING)
            # A float would round amounts before anything has looked at them; NaN and Infinity are
            # no JSON.
            return json.loads(text, parse_float=Decimal, parse_constant=_refused)
        # 200 kB of `[` exhaust Python's stack; DRF's own parser answers 500 to that.
        except (ValueError, RecursionError) as error:
            raise ParseError(f"the body is no JSON: {error}") from None


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no number")
