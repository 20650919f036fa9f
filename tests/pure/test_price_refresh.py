"""Progress of a refresh of price lists: its counts add up, and every failure has cause and remedy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.providers.price_refresh import (
    CAUSES,
    REMEDIES,
    ListProgress,
    ListState,
    ProviderProgress,
    RefreshProgress,
    Trouble,
)

READ = ListProgress("a", ListState.READ)
CHANGED = ListProgress("b", ListState.READ, is_changed=True)
WAITING = ListProgress("c", ListState.WAITING)
READING = ListProgress("d", ListState.READING)
FAILED = ListProgress("e", ListState.FAILED, trouble=Trouble.UNREACHABLE, error="no route")
LISTS = st.lists(st.sampled_from([READ, CHANGED, WAITING, READING, FAILED]), max_size=6)


def provider(*lists, lacks_account=False):
    return ProviderProgress("aws", "AWS", lists, lacks_account=lacks_account)


@pytest.mark.parametrize("trouble", list(Trouble))
def test_trouble_has_a_cause_with_the_name_and_a_remedy(trouble):
    failed = provider(ListProgress("", ListState.FAILED, trouble=trouble, error="because"))
    assert (CAUSES[trouble].format(provider="AWS"), REMEDIES[trouble]) == (
        failed.cause,
        failed.remedy,
    )
    assert "AWS" in failed.cause
    assert failed.remedy.endswith(".")
    assert failed.detail == "because"


@given(st.lists(LISTS, max_size=4))
def test_counts_add_up_whatever_the_states(of_providers):
    progress = RefreshProgress([provider(*lists) for lists in of_providers])
    lists = [entry for lists in of_providers for entry in lists]
    open_count = sum(entry in (WAITING, READING) for entry in lists)
    assert (progress.total, progress.done) == (len(lists), len(lists) - open_count)
    assert progress.is_running == (open_count > 0)
    assert progress.read == sum(entry in (READ, CHANGED) for entry in lists)
    assert len(progress.unread) == sum(FAILED in lists for lists in of_providers)


@pytest.mark.parametrize(
    ("lists", "result"),
    [
        ((), ""),
        ((READ, CHANGED, FAILED), "AWS: 2 of 3 lists read, 1 with other prices than before."),
        ((READ, FAILED, READING, WAITING), "AWS: 2 of 4 lists done."),
        ((FAILED,), ""),
    ],
)
def test_result_of_a_provider_counts_its_lists(lists, result):
    assert provider(*lists).result == result


@pytest.mark.parametrize(
    ("of_providers", "sentence"),
    [
        ([()], ""),
        ([(READ,), (READ, CHANGED)], "All 3 price lists were read."),
        ([(READ,), (WAITING, READING)], "Reading price lists: 1 of 3 done."),
        ([(FAILED,), (FAILED,)], "No provider could be read. All prices stay as they were."),
        (
            [(READ,), (FAILED,)],
            "1 of 2 price lists were read. What could not be read keeps its prices.",
        ),
    ],
)
def test_sentence_says_what_came_of_all_lists(of_providers, sentence):
    assert RefreshProgress([provider(*lists) for lists in of_providers]).sentence == sentence


def test_missing_account_is_no_failure_but_has_a_remedy():
    lacking = provider(READ, lacks_account=True)
    assert lacking.trouble is Trouble.NO_ACCOUNT
    assert "Clouds" in lacking.remedy
    assert lacking.detail == ""
    assert RefreshProgress([lacking]).unread == []


def test_failure_counts_more_than_a_missing_account():
    assert provider(FAILED, lacks_account=True).trouble is Trouble.UNREACHABLE
    assert provider(ListProgress("", ListState.FAILED)).trouble is Trouble.UNREADABLE
    healthy = provider(READ)
    assert (healthy.trouble, healthy.cause, healthy.remedy) == (None, "", "")
