"""Room for the interpreter's frames, so that calls deep down do not wait for the system's memory."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Value = TypeVar("Value")

# Eight bytes each: more than 256 KiB, so that the chunk has 512 KiB and half of it is left.
STACK_ENTRIES = 2**15 + 1


def with_large_stack(function: Callable[Params, Value]) -> Callable[Params, Value]:
    """The function, called with room for the frames of all that it calls.

    CPython 3.11 keeps frames in chunks of 16 KiB. It allocates one whenever a call crosses the end of a
    chunk and frees it on return, so a loop at that depth, as in templates, does so at every call
    (https://github.com/python/cpython/issues/142183, fixed in 3.13). A frame that declares a large
    stack gets a chunk of that size; the part that is never used takes no memory.
    """

    def call(*args: Params.args, **kwargs: Params.kwargs) -> Value:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=STACK_ENTRIES)
    return wraps(function)(call)
