"""The `elcano` command as it is typed."""

import sys

import pytest

from elcano.cli import main


@pytest.mark.parametrize("words", [["run", "--help"], ["run", "recipe.py", "--help"], ["run", "recipe.py", "-h"]])
def test_help_names_the_recipe_wherever_it_stands(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["elcano", *words])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.startswith("usage: elcano run [-h] PATH ")
