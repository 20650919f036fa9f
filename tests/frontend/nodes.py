"""How many elements a page has when it is first painted: every one costs a slow machine time."""

from collections import Counter
from html.parser import HTMLParser

MOST = 1_500
KEPT = ("template", "noscript")


class Elements(HTMLParser):
    """Elements of a document by name. What is in a template is none until a script takes it out,
    and what is in a noscript is text to a browser with scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self._kept = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found[tag] += not self._kept
        self._kept += tag in KEPT

    def handle_endtag(self, tag: str) -> None:
        self._kept -= tag in KEPT


def elements(html: str) -> Counter[str]:
    return Elements(html).found
