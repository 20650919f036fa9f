"""Terminal text as it is pasted: prompt and command first."""

import pytest

from backend.measure.readers.transcript import transcript


@pytest.mark.parametrize(
    "prompt",
    ["$", "#", "ann@web-1:~$", "[root@web ~]#", "ann@mac dir %", "~ $", "/srv #", "[a b]$"],
)
def test_prompt_and_command_leave_the_output(prompt):
    pasted = transcript("dd", f"{prompt} dd if=/dev/zero of=x bs=1M\n1+0 records in\n")
    assert pasted.command == "dd if=/dev/zero of=x bs=1M"
    assert pasted.output == "\n1+0 records in\n"
    assert pasted.operands == {"if": "/dev/zero", "of": "x", "bs": "1M"}


def test_prompt_behind_the_output_and_continued_lines_go_too():
    text = "\na@b:~$ sudo fio --name=x \\\n> --rw=read\n{}\na@b:~$ \n"
    pasted = transcript("fio", text)
    assert pasted.command == "sudo fio --name=x  --rw=read"
    assert pasted.output.split() == ["{}"]
    assert pasted.output.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "1+0 records in\n",
        "$ ls\n1+0 records in\n",
        "dd if=a of=b\n",
        "# ## ## ## ##\n# Yet-Another-Bench-Script\n",
        "",
    ],
)
def test_text_without_prompt_and_command_stays_whole(text):
    assert transcript("dd", text) == transcript("yabs", text)
    assert transcript("dd", text).output == text


def test_command_with_an_open_quote_still_has_operands():
    assert transcript("dd", "$ dd if='a of=b\n").operands == {"if": "'a", "of": "b"}
