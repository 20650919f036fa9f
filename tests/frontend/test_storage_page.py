"""The storage page: shares, arrays and memory channels, each state an address."""

import json
import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from backend.benchmarks.services.current_data import current_stamp
from backend.calculators.pages.examples import EXAMPLES
from backend.site.figures import figure
from tests import factories
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db
PAGE = "/storage/"


def page(client: Client, **params: object) -> str:
    query = urlencode(params, doseq=True)
    response = client.get(f"{PAGE}?{query}" if query else PAGE)
    assert response.status_code == 200
    return unescape(shown(response))


def table(html: str, name: str) -> list[list[str]]:
    """The cells of each row as plain text."""
    found = re.search(rf'aria-label="{name}".*?<tbody>(.*?)</tbody>', html, re.DOTALL)
    assert found, f"there is no table {name}"
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in
         re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    ]  # fmt: skip


def chart(html: str, name: str) -> dict[str, object]:
    found = re.search(rf'id="{name}-json" type="application/json">(.*?)</script>', html)
    assert found, f"there is no chart {name}"
    drawn: dict[str, object] = json.loads(found[1])
    return drawn


def statuses(html: str) -> list[str]:
    return re.findall(r'class="count" role="status">(.*?)</p>', html)


def test_page_opens_with_examples_of_all_three(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    current_stamp()
    with django_assert_max_num_queries(12):
        html = page(client)
    assert html.count("<h1>") == 1
    assert html.count("An example; change whatever differs.") == 3
    assert statuses(html) == [
        "NAS is full; bulk gets 9.3 MB/s each",
        "RAID 0 of 16 disks: 64 TB usable, no disk may fail",
        "34.1 GB/s of 154 GB/s: 77.8% of the bandwidth is unused",
    ]
    assert "<p>NAS is full; bulk gets 9.3 MB/s each.</p>" in html


def test_heavy_machines_share_what_the_light_ones_leave(client: Client) -> None:
    web, bulk = table(page(client), "What each flow gets")
    # (100 − 70 × 0.1) / 10 = 9.3 MB/s; 1,000 / 9.3 = 107.53 s
    assert web == ["web", "70", "0.1", "0.1", "7", "nothing", "10,000 s 2 h 46 min"]
    assert bulk == ["bulk", "10", "all it can get", "9.3", "93", "NAS", "107.5 s 1 min 48 s"]


def test_chart_draws_the_share_of_each_flow_on_each_link(client: Client) -> None:
    drawn = chart(page(client, **EXAMPLES["links"][1][1]), "plot-links")
    assert drawn["x"]["values"] == ["blade NIC", "uplink", "NAS port", "disks"]  # type: ignore[index]
    parts = {mark["label"]: mark["values"] for mark in drawn["marks"]}  # type: ignore[attr-defined]
    # 125 − 4 × 0.1 = 124.6 of 125, of 250, of 60 % of 1,250, of 900; others pass two of them
    assert parts["backup"] == pytest.approx([99.68, 49.84, 16.6133, 13.8444], abs=1e-3)
    assert parts["other blades"] == [None, None, 80.0, pytest.approx(66.6667, abs=1e-3)]


def test_more_flows_than_colours_are_drawn_as_others(client: Client) -> None:
    names = [f"f{n}" for n in range(8)]
    html = page(client, link="a", speed=100, flow=names, asks=["10"] * 8)
    drawn = chart(html, "plot-links")
    assert [(mark["label"], mark["values"]) for mark in drawn["marks"]][-1] == (  # type: ignore[attr-defined]
        "other flows", [30.0],
    )  # fmt: skip
    assert len(drawn["marks"]) == 6  # type: ignore[arg-type]
    assert statuses(html)[0] == "No link full: every flow gets what it asks for"


def test_flow_on_a_bond_is_limited_by_one_of_its_links(client: Client) -> None:
    html = page(client, link="uplink", kind="gigabit", links=4, join="bond", flow="copy", flows=1)
    row = table(html, "What each flow gets")[0]
    assert row[3:6] == ["125", "125", "one of the links of uplink"]
    html = page(
        client, link="paths", kind="gigabit", links=4, join="multipath", flow="copy", usable=50
    )
    # 70 % of 4 × 125, and half of that
    assert table(html, "What each flow gets")[0][3] == "175"


def test_stated_speed_goes_before_that_of_the_kind(client: Client) -> None:
    html = page(client, link="a", kind="gigabit", speed="0.3", flow="x", move="")
    assert table(html, "What each flow gets") == [["x", "1", "all it can get", "0.3", "0.3", "a"]]


def test_document_shown_gives_the_same_rates_over_the_api(client: Client) -> None:
    html = page(client, **EXAMPLES["links"][1][1])
    shown = re.search(r'<pre class="lines"[^>]*><code>(.*?)</code>', html, re.DOTALL)
    assert shown
    answer = client.post("/api/v1/contention", shown[1], content_type="application/json")
    assert answer.status_code == 200
    rates = [flow["rate_bytes_per_s"] for flow in answer.json()["flows"]]
    assert rates == pytest.approx([124.6e6, 1e5, 40e6])


def test_wrong_values_stay_typed_with_errors_at_their_fields(client: Client) -> None:
    html = page(client, link=["a", ""], speed=["x", "3"], flow=["w"], flows=["0"], move="-1")
    for told in (
        "Link 1, Speed of one, MB/s: x is not a number.",
        "Link 2, Link: A name is needed.",
        "Flow 1, How many: 1 or more is needed.",
        "Time to move, MB: 0 or more is needed.",
    ):
        assert f"<li>{told}</li>" in html
    assert re.search(r'<input[^>]*name="speed"[^>]*value="x"[^>]*aria-invalid="true"', html)
    assert 'aria-label="What each flow gets"' not in html


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"link": ["a", "a"], "speed": ["1", "1"], "flow": "x"}, "Link 2, Link: 'a' occurs twice"),
        ({"link": "a", "speed": "0", "flow": "x"}, "Link 1, Speed of one, MB/s: 0.0 is not a"),
        ({"link": "a", "flow": "x"}, "Link 1, Speed of one, MB/s: A speed or a kind is needed."),
        ({"link": "a", "speed": "1", "flow": "x", "over": "b"}, "Flow 1, Over: no link is called"),
        ({"link": "a", "speed": "1", "asks": "1"}, "Flow 1, Flow: A name is needed."),
        ({"flow": "x"}, "Flow 1, Over: a flow without a demand needs a link"),
        ({"link": "a", "speed": "1", "join": "glue", "flow": "x"}, "Link 1, Joined as: Select"),
        (
            {"link": "a", "speed": "NaN", "flow": "x"},
            "Link 1, Speed of one, MB/s: NaN is not a number.",
        ),
        ({"link": "a", "speed": "1" + "0" * 20, "flow": "x"}, "1000000000 is the most."),
        ({"flow": ["x"] * 21}, "21 flows are too many: at most 20."),
    ],
)
def test_fault_of_links_is_shown(client: Client, params: dict[str, object], told: str) -> None:
    assert told in page(client, **params)


def test_flows_without_links_and_links_without_flows_are_no_faults(client: Client) -> None:
    assert "Enter at least one flow." in page(client, link="a", speed=1)
    html = page(client, flow="x", asks=5)
    assert "There is no link: nothing is shared." in html
    assert table(html, "What each flow gets")[0][3] == "5"
    idle = page(client, link="a", speed=1, flow="x", asks=0, move=1)
    assert table(idle, "What each flow gets")[0][-1] == "never"


def test_measured_set_is_compared_with_its_disks(client: Client) -> None:
    # 16 × 160 = 2,560 MB/s; 2,314 were seen: 90.4 %
    assert table(page(client), "Expected and measured") == [
        ["Reading", "2,560", "2,314", "90.4%"],
        ["Writing", "2,560", "not stated", "not stated"],
    ]
    beyond = page(client, level="raid0", disks=2, size=1, read=100, seen_write=300)
    assert table(beyond, "Expected and measured")[1][3] == "150%: something else was measured"


def test_array_is_compared_with_the_same_disks_at_every_level(client: Client) -> None:
    html = page(client, **EXAMPLES["arrays"][1][1])
    rows = {row[0]: row[1:] for row in table(html, "The same disks at other levels")}
    assert len(rows) == 11
    # two groups of 12, two of them parity: 20 × 14 TB, RAID 10 half of 24
    assert rows["RAID 6"][:2] == ["280 TB", "2"]
    assert rows["RAID 10"][:2] == ["168 TB", "1"]
    assert rows["RAIDZ2"][1] == "2"
    # 75 % of 14 TB at 265 MB/s = 39,623 s
    assert rows["RAIDZ2"][4] == "11 h 00 min"
    assert rows["RAID 0"][4] == "none"
    spared = page(client, level="raid5", disks=5, spares=1, size=4, read=100)
    rows = {row[0]: row[1:] for row in table(spared, "The same disks at other levels")}
    assert rows["RAID 0"] == ["RAID 0 cannot use a spare"]
    assert rows["dRAID1"][0].endswith("whole number from 1 to 3")


def test_bytes_of_an_array_are_listed_and_drawn(client: Client) -> None:
    html = page(client, level="raidz2", disks=6, size=4, read=100, read_iops=100)
    space = {row[0]: row[1] for row in table(html, "Where the bytes go")}
    assert space["Total"] == "24 TB = 21.83 TiB"
    assert space.keys() >= {"Usable", "Parity or copies", "Kept by ZFS", "Reported by zfs list"}
    assert "Spares" not in space
    assert "Random: 100 reads and an unknown number of writes a second." in html
    drawn = chart(html, "plot-zfs")
    stacks = zip(*(mark["values"] for mark in drawn["marks"]), strict=True)  # type: ignore[attr-defined]
    assert [sum(stack) for stack in stacks] == pytest.approx([24] * len(drawn["x"]["values"]))  # type: ignore[index]


@pytest.mark.parametrize(
    ("generation", "reported"),
    [("2013", "68.41"), ("2019", "67.33"), ("current", "69.61"), ("", "69.61")],
)
def test_zfs_keeps_what_its_versions_kept(client: Client, generation: str, reported: str) -> None:
    html = page(client, level="raidz3", disks=24, size=4, read=160, zfs=generation)
    space = {row[0]: row[1] for row in table(html, "Where the bytes go")}
    assert space["Reported by zfs list"].endswith(f" = {reported} TiB")
    rows = {row[0]: row[1] for row in table(html, "The same disks at other levels")}
    assert rows["RAIDZ3"] == space["Usable"].split(" = ")[0]


def test_array_lists_what_a_file_system_leaves(client: Client) -> None:
    html = page(client, level="raid0", disks=1, size="58.9", read=100)
    # 58.9 TB less 1/256 and 1/20 = 55.725 TB
    assert table(html, "Where the bytes go")[-1] == [
        "Left by ext4 on all of it", "55.7 TB = 50.68 TiB",
    ]  # fmt: skip


@pytest.mark.parametrize("example", range(len(EXAMPLES["arrays"])))
def test_document_of_an_array_gives_the_same_over_the_api(client: Client, example: int) -> None:
    html = page(client, **EXAMPLES["arrays"][example][1])
    document = re.search(r'aria-label="Document of the array"><code>(.*?)</code>', html, re.DOTALL)
    assert document
    answer = client.post("/api/v1/arrays", document[1], content_type="application/json")
    assert answer.status_code == 200
    space = {row[0]: row[1] for row in table(html, "Where the bytes go")}
    usable = answer.json()["capacity"]["usable_bytes"]
    assert space["Usable"] == f"{usable / 1e12:.3g} TB = {figure(usable / 2**40)} TiB"


def test_kind_of_disk_states_its_writes(client: Client) -> None:
    html = page(client, level="raid10", disks=2, size=1, disk="log_ssd")
    assert "an unknown number of reads and 45,000 writes a second." in html
    assert "9 writes" in page(client, level="raid10", disks=2, size=1, disk="log_ssd",
                                  write_iops=9)  # fmt: skip


def test_link_of_a_level_keeps_everything_else(client: Client) -> None:
    html = page(client, level="raid5", disks=8, size=4, read=100, sockets=1, modules=3, channels=2,
                rated=3200)  # fmt: skip
    url = re.search(r'href="([^"]*)#arrays">RAIDZ2</a>', html)
    assert url
    other = unescape(shown(client.get(url[1])))
    assert statuses(other)[1].startswith("RAIDZ2 of 8 disks")
    assert statuses(other)[2] == statuses(html)[2]


@pytest.mark.parametrize(
    ("params", "field", "told"),
    [
        ({"disks": "9", "groups": "2"}, "disks", "9 disks do not make 2 equal groups"),
        ({"disks": ""}, "disks", "A number of disks is needed."),
        ({"size": ""}, "size", "A size is needed."),
        ({"size": "0.0001"}, "size", "0.001 or more is needed."),
        ({"read": ""}, "read", "A speed or a kind of disk is needed."),
        ({"write": "0"}, "write", "0.0 is not a number above 0"),
        ({"level": "raid7"}, "level", "raid7 is not one of the available choices"),
        ({"ashift": "8"}, "ashift", "8 is not one of the available choices"),
        ({"spares": "20"}, "spares", "20 is not a whole number from 0 to 7"),
        ({"full": "101"}, "full", "100 is the most."),
        ({"zfs": "1999"}, "zfs", "1999 is not one of the available choices"),
    ],
)
def test_fault_of_an_array_stands_at_its_field(
    client: Client, params: dict[str, str], field: str, told: str
) -> None:
    html = page(client, **{"level": "raidz1", "disks": "8", "size": "4", "read": "100", **params})
    assert re.search(rf'class="field-error" id="{field}_error">[^<]*{re.escape(told)}', html)
    assert 'aria-label="Where the bytes go"' not in html


@pytest.mark.parametrize(
    ("params", "warnings"),
    [
        ({"modules": "1", "channels": "4"},
         ["One module per socket: memory runs on a single channel.",
          "3 of 4 channels of each socket are empty: that leaves 25% of the bandwidth."]),
        ({"modules": "3", "channels": "4"},
         ["1 of 4 channels of each socket is empty: that leaves 75% of the bandwidth."]),
        ({"modules": "3", "channels": "2"},
         ["Some channels have more modules than others: a part of memory is slower."]),
        ({"modules": "2", "channels": "2", "runs_at": "2400"},
         ["The modules run at 2400 MT/s and are made for 3200: that leaves 75% of the bandwidth."]),
        ({"modules": "1", "channels": "1"}, []),
    ],
)  # fmt: skip
def test_memory_shows_what_is_lost(
    client: Client, params: dict[str, str], warnings: list[str]
) -> None:
    html = page(client, sockets=2, rated=3200, **params)
    assert re.findall(r'<p class="notice warn">(.*?)</p>', html) == warnings
    assert ("nothing is lost" in html) is (not warnings or "Some" in warnings[0])


def test_memory_lists_the_time_with_other_numbers_of_modules(client: Client) -> None:
    # 2,133 MT/s × 8 B = 17.064 GB/s a channel
    assert table(page(client), "Other numbers of modules") == [
        ["1", "17.1 GB/s", "1"], ["2", "34.1 GB/s", "0.5"],
        ["3", "51.2 GB/s", "0.3333"], ["4", "68.3 GB/s", "0.25"],
    ]  # fmt: skip


def test_memory_without_its_numbers_is_a_fault(client: Client) -> None:
    html = page(client, sockets=2, modules=0, channels="")
    assert "1 or more is needed." in html
    assert html.count("This field is required.") == 2
    assert "Nothing was calculated" in html


def test_every_example_works_and_carries_the_rest(client: Client) -> None:
    html = page(client, level="raid5", disks=3, size=1, read=7)
    assert f"<p>{statuses(html)[1]}.</p>" in html  # what was stated comes before the examples
    urls = re.findall(r'href="(/storage/\?[^"]+)"', html)
    for sections in EXAMPLES.values():
        for label, _ in sections:
            url = re.search(rf'href="([^"]+)">{label}</a>', html)
            assert url
            assert url[1] in urls
            got = unescape(shown(client.get(url[1].split("#")[0])))
            assert len(statuses(got)) == 3
            assert "needs to be changed" not in got
            if "#arrays" not in url[1]:
                assert statuses(got)[1] == (
                    "RAID 5 of 3 disks: 2 TB usable, any 1 disk of a group may fail at once"
                )


def test_forms_carry_what_the_others_were_sent_with(client: Client) -> None:
    html = page(client, link="a", speed=5, flow="<x>", sockets=1)
    forms = re.findall(r"<form class=\"card sheet\".*?</form>", html, re.DOTALL)
    hidden = [
        set(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)) for form in forms
    ]
    assert hidden == [
        {("sockets", "1")},
        {("link", "a"), ("speed", "5"), ("flow", "<x>"), ("sockets", "1")},
        {("link", "a"), ("speed", "5"), ("flow", "<x>")},
    ]


def test_page_lists_what_others_have_seen(client: Client) -> None:
    html = page(client)
    jobs = {row[0]: row[1:3] for row in table(html, "Time of a job")}
    assert jobs["Kernel unpacked over NFS, no log device"] == ["203 s", "not stated"]
    assert jobs["Kernel unpacked over NFS, every flush obeyed"][0] == "aborted"
    assert table(html, "On servers")[0][1:3] == ["16,000 CMIPS", "2019"]
    seen = {row[0]: row[1:4] for row in table(html, "Measured against the sum of the parts")}
    assert seen["ZFS volume over iSCSI and 40 Gb"] == ["70", "5,000", "1.4%"]
    assert "2.314 GB/s are 92.6% of two 10 Gb links" in html


def test_names_are_escaped(client: Client) -> None:
    raw = client.get(f"{PAGE}?{urlencode({'link': 'a', 'speed': 1, 'flow': '<b>'})}").content
    assert b"<b>" not in raw


def test_unknown_parameter_is_named(client: Client) -> None:
    assert "Not known here, and without effect: colour." in page(client, colour="red")


def test_page_asks_to_sign_in_when_reading_is_not_public(client: Client, settings) -> None:  # type: ignore[no-untyped-def]
    settings.PUBLIC_READ = False
    assert client.get(PAGE).status_code == 302


def unfolded(html: str) -> list[str]:
    return re.findall(r'<details class="part" open>.*?<section id="(\w+)">', html, re.DOTALL)


def test_page_unfolds_what_the_address_states(client: Client) -> None:
    """Three calculators at once made a page that nobody read to its end."""
    assert unfolded(page(client)) == ["links"]
    assert unfolded(page(client, level="raid5", disks=3, size=1, read=7)) == ["arrays"]
    assert unfolded(page(client, sockets=1, link="a", speed=5)) == ["links", "memory"]


def test_array_leads_to_the_cheapest_offers_with_its_space(client: Client) -> None:
    for slug, terabytes, price in (("small", 1, "0.1"), ("dear", 4, "0.3"), ("cheap", 2, "0.2")):
        offer = factories.offer(slug, name=slug, disk_bytes=terabytes * 10**12)
        factories.price(offer, price)
    html = page(client, level="raid5", disks=3, size=1, read=7)
    name = "Offers with 2 TB of disk or more, cheapest first"
    assert table(html, name) == [
        ["cheap", "AWS", "2.0", "0.2000"],
        ["dear", "AWS", "4.0", "0.3000"],
    ]
    assert re.search(r'href="/offers/\?[^"]*disk_gb__gte=2000', html)


def test_memory_leads_to_offers_by_their_bandwidth(client: Client) -> None:
    assert "No offer with a price has this figure yet." in page(client, sockets=1)
    offer = factories.offer("wide", name="wide")
    factories.price(offer, "0.2")
    factories.sample(offer, 2e11, metric="memory_bandwidth_bytes_per_s", variant="all")
    html = page(client, sockets=1)
    name = "Memory bandwidth: offers with the most for their price"
    assert table(html, name) == [["wide", "AWS", "200.0", "0.2000"]]


def test_fault_of_what_was_stated_leaves_no_sentence_of_an_example(client: Client) -> None:
    assert 'class="conclusion' not in page(client, sockets=1)
    assert 'class="conclusion' in page(client)
