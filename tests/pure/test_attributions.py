"""Who is named beside published figures."""

from backend.foundation.attributions import INSPECTOR_LICENCE, SPEC_TERMS, attributions


def test_attributions_name_each_source_once_by_the_licences_present():
    named = attributions([None, "", "no such licence", INSPECTOR_LICENCE, INSPECTOR_LICENCE])
    assert [one.text for one in named] == [
        "Published benchmark figures: Spare Cores Inspector Data"
        " (https://github.com/SpareCores/sc-inspector-data), CC BY-SA 4.0"
        " (https://creativecommons.org/licenses/by-sa/4.0/)."
        " Reduced to the median, lowest and highest of each server's runs; units scaled; means of"
        " ratios added."
    ]
    mixed = attributions([f"{SPEC_TERMS}; {INSPECTOR_LICENCE}"])
    assert [one.source for one in mixed] == ["Spare Cores Inspector Data", "SPEC CPU2017 results"]
    assert attributions([None, ""]) == []
