"""ssh_config(5) as `ssh -G` reads it: the settings that decide which machine is reached, and with what.

asyncssh reads these files, too, but runs the command of `Match exec`, expands the tokens of an included
file before the rest is read, and lets ProxyJump and ProxyCommand both stand. No command of a file runs here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from backend.foundation.errors import DomainError

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_MAX_DEPTH = 16
_LISTS = ("identityfile", "certificatefile")
# The rest of the line is one value, quotes and all.
_WHOLE_LINE = ("proxycommand", "proxyjump")
_KEYWORD = re.compile(r'\s*"?([A-Za-z0-9]+)"?(?:\s*=\s*|\s+)(.*)')
_WORD = re.compile(r"""(?:\\['"\\ ]|"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|[^\s'"])+""")
_PIECE = re.compile(r"""\\(['"\\ ])|"((?:\\.|[^"])*)"|'((?:\\.|[^'])*)'|(.)""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(['"\\])""")
_EXPANDED = re.compile(r"%(.?)|\$\{([^}]*)\}")
_ALONE = ("all", "canonical", "final")
_PAIR = re.compile(r"^(!?(?:host|originalhost|user|localuser|tagged|exec))=", re.IGNORECASE)


class SshConfigFault(DomainError):
    """A setting of ssh that cannot be read or followed, with its file and line."""


@dataclass
class SshSettings:
    """The first value of each setting for one name, by its keyword in lower case."""

    name: str
    local_user: str
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _LISTS})
    is_named: bool = False
    """True if a pattern that matched is of more than wildcards."""
    is_final_pass: bool = False
    wants_final_pass: bool = False

    @property
    def host(self) -> str:
        # HostName knows the token %h alone.
        name = self.values.get("hostname", "%h")
        return re.sub(r"%([h%])", lambda m: self.name if m[1] == "h" else "%", name)

    @property
    def pattern_name(self) -> str:
        """The name that patterns of Host mean: in a second pass the resolved one."""
        return self.host.lower() if self.is_final_pass else self.name

    @property
    def user(self) -> str:
        return self.values.get("user", self.local_user)

    def read(self, files: Mapping[Path, Path]) -> None:
        """Adds files, each with the directory of its relative includes. Raises SshConfigFault."""
        for self.is_final_pass in (False, True):
            for path, directory in files.items():
                _File(self, path, directory).read(is_active=True, depth=0)
            if not self.wants_final_pass:
                break
            # A HostName that only the second pass finds comes too late for ssh.
            self.values.setdefault("hostname", "%h")


@dataclass
class _File:
    """A file while it is read."""

    settings: SshSettings
    path: Path
    directory: Path
    number: int = 0

    def fail(self, detail: str) -> SshConfigFault:
        return SshConfigFault(f"{self.path} line {self.number}: {detail}")

    def read(self, *, is_active: bool, depth: int) -> None:
        """Settings of a file that is included in a block that does not match count for nothing."""
        if depth > _MAX_DEPTH:
            raise self.fail("files include each other")
        try:
            lines = self.path.read_text().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SshConfigFault(f"{self.path}: {error}") from error
        is_matching = is_active
        for self.number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            match = _KEYWORD.fullmatch(line.rstrip())
            if match is None:
                raise self.fail(f"no value in {line.strip()[:80]!r}")
            keyword, rest = match[1].lower(), match[2]
            words = list(self._words(rest))
            match keyword:
                case "host":
                    is_matching = is_active and self._names(self.settings.pattern_name, words)
                case "match":
                    is_matching = self._matches(words) and is_active
                case "include":
                    for path in self._includes(words):
                        _File(self.settings, path, self.directory).read(
                            is_active=is_matching, depth=depth + 1
                        )
                case _ if is_matching:
                    self._set(keyword, rest if keyword in _WHOLE_LINE else (words or [""])[0])

    def _words(self, text: str) -> Iterator[str]:
        position = 0
        while rest := text[position:].lstrip():
            position = len(text) - len(rest)
            if rest.startswith("#"):
                return
            word = _WORD.match(text, position)
            if word is None:
                raise self.fail("the quotes do not match")
            position = word.end()
            yield "".join(
                piece[1] or piece[4] or _ESCAPED.sub(r"\1", piece[2] or piece[3] or "")
                for piece in _PIECE.finditer(word[0])
            )

    def _set(self, keyword: str, value: str) -> None:
        values, lists = self.settings.values, self.settings.lists
        if not value:
            raise self.fail(f"{keyword} has no value")
        if keyword == "port" and not (
            value.isascii() and value.isdigit() and 0 < int(value) < 2**16
        ):
            raise self.fail(f"{value[:20]!r} is not a port")
        if keyword == "proxyjump":
            value = value.partition("#")[0].rstrip()
        if keyword in lists:
            if value not in lists[keyword]:
                lists[keyword].append(value)
        # The first one of the two switches the other one off, but for a ProxyJump of none.
        elif not (
            (keyword == "proxyjump" and "proxycommand" in values)
            or (keyword == "proxycommand" and values.get("proxyjump", "none").lower() != "none")
        ):
            values.setdefault(keyword, value)

    def _includes(self, patterns: list[str]) -> Iterator[Path]:
        for pattern in patterns:
            path = self.directory / Path(pattern).expanduser()
            yield from sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))

    def _names(self, name: str, patterns: list[str]) -> bool:
        is_met = _is_listed(name, patterns)
        self.settings.is_named |= is_met and not _is_listed(
            name, [text for text in patterns if not text.strip("*?")]
        )
        return is_met

    def _matches(self, words: list[str]) -> bool:
        settings = self.settings
        known = {
            "host": settings.host.lower(),
            "originalhost": settings.name.lower(),
            "user": settings.user,
            "localuser": settings.local_user,
            "tagged": settings.values.get("tag", ""),
        }
        result, unknown = True, ""
        words = [part for word in words for part in _PAIR.sub(r"\1\n", word).split("\n", 1)]
        while words:
            criterion = words.pop(0)
            name = criterion.removeprefix("!").lower()
            if name in _ALONE:
                settings.wants_final_pass |= name == "final"
                is_met = name == "all" or settings.is_final_pass
            elif not words:
                raise self.fail(f"Match {criterion} needs a value")
            elif name in known:
                patterns = words.pop(0).split(",")
                if name in ("host", "originalhost"):
                    is_met = self._names(known[name], [text.lower() for text in patterns])
                else:
                    is_met = _is_listed(known[name], patterns)
            else:
                unknown = f"{criterion} {words.pop(0)!r}"
                continue
            result &= is_met is not criterion.startswith("!")
        # A command decides only where all the rest is met.
        if result and unknown:
            raise self.fail(
                f"Match {unknown} decides what holds for {settings.name}, and is not tried here: "
                "give a file without it by --config"
            )
        return result


def _is_listed(text: str, patterns: list[str]) -> bool:
    """True if a pattern matches and none with a ! before it does."""
    is_met = False
    for pattern in patterns:
        # In ssh only * and ? are wild.
        if fnmatchcase(text, pattern.removeprefix("!").replace("[", "[[]")):
            if pattern.startswith("!"):
                return False
            is_met = True
    return is_met


def expand(text: str, tokens: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """The text with its tokens and ${variables}; SshConfigFault for one that is not known."""

    def value(match: re.Match[str]) -> str:
        text_of = tokens.get(match[1]) if match[2] is None else environ.get(match[2])
        if text_of is None:
            raise SshConfigFault(f"{match[0]} in {text!r} has no value here: write it out")
        return text_of

    return _EXPANDED.sub(value, text)
