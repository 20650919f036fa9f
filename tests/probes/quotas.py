"""A quota that is used up: the kernel answers writes of some size with EDQUOT, by a seccomp filter.

Quota formats are modules that many kernels come without; the filter gives programs the same error (write(2)).
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Callable

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
# write and pwrite64, by the kernel's tables of system calls.
WRITES = {"x86_64": (1, 18), "aarch64": (64, 68)}
# BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K; offsets in struct seccomp_data.
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, COUNT_AT = 0, 32


def refusing_writes(min_bytes: int) -> Callable[[], None]:
    """For subprocess' preexec_fn: its writes of at least so many bytes find the quota used up."""
    write, pwrite = WRITES[platform.machine()]
    program = [
        (LOAD, 0, 0, NUMBER_AT),
        (EQUAL, 1, 0, write),
        (EQUAL, 0, 3, pwrite),
        (LOAD, 0, 0, COUNT_AT),
        (AT_LEAST, 0, 1, min_bytes),
        (RETURN, 0, 0, ERRNO | errno.EDQUOT),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    )
    call = ctypes.CDLL(None, use_errno=True).prctl

    def refuse() -> None:
        if call(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or call(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header
        ):
            raise OSError(ctypes.get_errno(), "no filter of system calls")
        assert code is not None  # must live as long as the header points to it

    return refuse
