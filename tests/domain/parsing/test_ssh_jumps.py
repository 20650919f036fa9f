"""The machine in between that arguments and commands of ssh name."""

import pytest

from backend.domain.parsing.ssh_jumps import (
    NoJump,
    jump_of_arguments,
    jump_of_command,
    words_of,
)


def test_words_of_a_command_line_are_those_of_a_shell():
    assert words_of("ssh -o 'Proxy Jump' a") == ["ssh", "-o", "Proxy Jump", "a"]
    assert words_of("ssh 'open") == []


def test_arguments_whose_quotes_do_not_match_name_no_jump():
    assert jump_of_arguments("-J 'bastion'") == "bastion"
    assert jump_of_arguments("-J 'bastion") == ""


def test_command_whose_quotes_do_not_match_is_no_jump():
    assert jump_of_command('ssh -W %h:%p "bastion"') == "bastion"
    with pytest.raises(NoJump, match="bastion"):
        jump_of_command('ssh -W %h:%p "bastion')
