"""A terminal's text as people paste it: a prompt with the command first, its output behind it."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# root@host:~# · [user@host dir]$ · ~ % · a bare $
_PROMPT = re.compile(
    r"(?P<prompt>(?:\[[^\]\n]{1,100}\]|[\w@.:~/+-]{0,100}(?: [\w.~/-]{1,60})?) ?[$#%>❯]) +(?P<rest>\S.*)"
)
# Other words than the tool's name that its command has.
_PROGRAMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bonnie": ("bonnie++",),
        "cmips": ("java",),
        "passmark": ("pt_linux",),
        "yabs": ("curl", "wget"),
    }
)
_CONTINUED = "\\"
MAX_COMMAND = 1000


@dataclass(frozen=True)
class Transcript:
    """`command` is empty where the text has none; `output` keeps the numbers of its lines."""

    command: str
    output: str

    @property
    def operands(self) -> Mapping[str, str]:
        """`name=value` words of the command, as dd has them."""
        try:
            words = shlex.split(self.command)
        except ValueError:  # a quote that does not end
            words = self.command.split()
        pairs = (word.partition("=") for word in words)
        return {name: value for name, equals, value in pairs if equals}


def transcript(tool: str, text: str) -> Transcript:
    """The text without the prompt and the command of the tool that lead it, or end it."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    prompted = _PROMPT.fullmatch(lines[first].strip())
    if prompted is None or not _names(tool, prompted["rest"]):
        return Transcript("", text)
    words, last = [prompted["rest"]], first
    while words[-1].endswith(_CONTINUED) and last + 1 < len(lines):
        last += 1
        words[-1] = words[-1].removesuffix(_CONTINUED)
        words.append(lines[last].strip().removeprefix("> "))
    for number in range(first, last + 1):
        lines[number] = ""
    end = max((n for n, line in enumerate(lines) if line.strip()), default=0)
    if lines[end].strip() == prompted["prompt"].strip():
        lines[end] = ""
    return Transcript(" ".join(words)[:MAX_COMMAND], "\n".join(lines))


def _names(tool: str, command: str) -> bool:
    names = (tool, *_PROGRAMS.get(tool, ()))
    return any(re.search(rf"(?<![\w-]){re.escape(name)}", command) for name in names)
