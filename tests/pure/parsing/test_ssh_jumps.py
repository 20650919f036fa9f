"""The machine in between that arguments and commands of ssh name."""

import pytest

from backend.benchmarks.calc.host_lists.ssh_jumps import (
    NoJump,
    Unfollowed,
    jump_of_arguments,
    jump_of_command,
    words_of,
)


def test_words_of_a_command_line_are_those_of_a_shell():
    assert words_of("ssh -o 'Proxy Jump' a") == ["ssh", "-o", "Proxy Jump", "a"]
    assert words_of("ssh 'open") == []


def test_arguments_whose_quotes_do_not_match_are_refused():
    assert jump_of_arguments("-J 'bastion'") == "bastion"
    assert jump_of_arguments(" ") == ""
    with pytest.raises(Unfollowed, match="quotes that match"):
        jump_of_arguments("-J 'bastion")


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        ("-C -p 2200", "ansible_port"),
        ("-p2200", "ansible_port"),
        ("-o HostName=192.0.2.9 -J gate", "ansible_host"),
        ("-J gate -o 'User ops'", "ansible_user"),
        ("-l ops", "ansible_user"),
        ("-F /etc/ssh/lab", "the variables of the host"),
    ],
)
def test_arguments_that_send_ssh_elsewhere_are_refused(arguments, instead):
    with pytest.raises(Unfollowed, match=f"not followed: write {instead}"):
        jump_of_arguments(arguments)


def test_arguments_that_do_not_change_the_machine_are_passed_over():
    arguments = "-C -o ControlPersist=60s -o StrictHostKeyChecking=no -i ~/.ssh/id -J gate"
    assert jump_of_arguments(arguments) == "gate"


def test_command_whose_quotes_do_not_match_is_no_jump():
    assert jump_of_command('ssh -W %h:%p "bastion"') == "bastion"
    with pytest.raises(NoJump, match="bastion"):
        jump_of_command('ssh -W %h:%p "bastion')
