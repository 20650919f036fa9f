"""Licensed systems in the price of a machine."""

import pytest

from backend.bills.calc.systems import is_licence, system_of


@pytest.mark.parametrize(
    ("words", "system"),
    [
        ({"operation": "RunInstances:0002"}, "Windows"),
        ({"operation": "RunInstances:000G"}, "SUSE"),
        # Licences brought along cost what Linux does, whatever the description says.
        ({"operation": "RunInstances:0800", "description": "Windows m5.large"}, ""),
        ({"operation": "RunInstances:00g0", "system": "Red Hat"}, ""),
        ({"operation": "RunInstances", "system": "Linux"}, ""),
        # A code that is not known leaves it to the words.
        ({"operation": "RunInstances:9999", "system": "RHEL"}, "Red Hat"),
        ({"description": "Windows with SQL Server"}, "Windows, SQL Server"),
        ({"system": "Windows BYOL"}, ""),
        ({"system": "Windows", "meter": "Azure Hybrid Benefit"}, ""),
        ({}, ""),
    ],
)
def test_system_is_that_whose_licence_is_in_the_price(words, system):
    assert system_of(words) == system


@pytest.mark.parametrize(
    ("description", "is_one"),
    [
        ("Licensing Fee for Windows Server 2022 (CPU cost)", True),
        ("SQL licence of your own", False),
        ("Windows license included", False),
        ("Licence of something", False),
    ],
)
def test_line_is_a_licence_where_it_charges_for_one_alone(description, is_one):
    assert is_licence({"description": description}) is is_one
