"""Room for the interpreter's frames, so that calls deep down do not wait for the system's memory."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Value = TypeVar("Value")

STACK_ENTRIES = 2**15 + 1
"""Eight bytes each: more than 256 KiB, so that the piece has 512 KiB and half of it is left."""


def with_large_stack(function: Callable[Params, Value]) -> Callable[Params, Value]:
    """The function, called with room for the frames of all that it calls.

    CPython 3.11 keeps frames in pieces of 16 KiB and asks the system for one, and gives it back,
    whenever a call crosses the end of a piece: in a loop, which templates are full of, at every turn
    (https://github.com/python/cpython/issues/142183, mended in 3.13). A frame that says it needs a
    large stack is given a piece to match; what is not used of it costs nothing.
    """

    def call(*args: Params.args, **kwargs: Params.kwargs) -> Value:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=STACK_ENTRIES)
    return wraps(function)(call)
