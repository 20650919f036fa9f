"""The providers' style sheet: colours and shapes as the records say."""

from django.contrib.staticfiles import finders

from backend.providers.base import ProviderRecord, Shape
from backend.site.provider_styles import PATH, provider_styles

PLAIN = ProviderRecord(
    slug="one", name="One", short_name="One", colour="#112233", shape=Shape.UP, is_hollow=False
)
HOLLOW = ProviderRecord(
    slug="two", name="Two", short_name="Two", colour="#112233", dark_colour="#445566"
)


def test_styles_give_colour_shape_and_filling_of_each_provider():
    light, dark, preferred, *swatches = provider_styles([PLAIN, HOLLOW]).splitlines()
    assert light == (
        ":root{--provider-one:#112233;--provider-one-shape:up;"
        "--provider-two:#112233;--provider-two-shape:circle;--provider-two-hollow:1;}"
    )
    assert dark == ':root[data-theme="dark"]{--provider-two:#445566;}'
    assert preferred.startswith("@media (prefers-color-scheme:dark)")
    places = ".swatch.provider-one,.by.provider-one::before"
    assert swatches[0] == f"{places}{{background-color:var(--provider-one)}}"
    assert "repeating-linear-gradient" in swatches[1]


def test_styles_leave_out_providers_without_a_colour():
    bare = ProviderRecord(slug="bare", name="Bare", short_name="Bare")
    assert "bare" not in provider_styles([bare])


def test_style_sheet_is_a_static_file_when_looked_for():
    path = finders.find(PATH)
    assert path is not None
    with open(path) as file:
        assert "--provider-hetzner:#d55e00" in file.read()
    assert finders.find("css/none.css") is None
    listed = [name for finder in finders.get_finders() for name, _ in finder.list([])]
    assert listed.count(PATH) == 1


def test_page_links_the_style_sheet_when_shown(client, db):
    assert b"css/providers." in client.get("/").content
