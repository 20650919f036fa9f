"""Pages as a browser shows them: any run of white space is one blank."""

import re

from django.http import HttpResponse

from backend.site.state import API_DEFAULTS

_STATED = "|".join(f"{name}={value}" for name, (value,) in API_DEFAULTS.items())
STATED = re.compile(rf"""(\?|&amp;|&)(?:{_STATED})(?=[&"#\s]|$)""")


def shown(response: HttpResponse) -> str:
    return " ".join(brief(response.content.decode()).split())


def brief(text: str) -> str:
    """A page, or an address, whose links leave out what each of them states, where it is the API's."""
    text = STATED.sub(lambda match: "?" if match[1] == "?" else "", text)
    return re.sub(r"""\?(?=["\s#]|$)""", "", re.sub(r"\?(?:&amp;|&)+", "?", text))
