"""Tables at every width: names are cut, figures never."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from common.shown.tables import Table, print_table

WIDTHS = range(40, 201, 8)
LONG = "ec2-3-131-244-37.us-east-2.compute.amazonaws.com"


def printed(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_table(table, console)
    return console.file.getvalue().splitlines()


def wide() -> Table:
    table = Table(["site"], ["success", "solved", "tasks", "invalid", "missing", "unjudged", "steps"])
    for number, name in enumerate((LONG, "京东 商城 的 一个 很长 很长 很长 的 名字", "[bold]x[/bold]")):
        table.add(name, f"{10 + number}.5%", "123456", "7890123", "11", "12", "13", "4.25")
    table.add("all", "99.9%", "1", "2", "3", "4", "5", "6.0", is_total=True)
    return table


FIGURES = ["10.5%", "11.5%", "12.5%", "99.9%", *["123456", "7890123", "4.25"] * 3, "6.0"]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_and_heading_is_whole(width: int) -> None:
    lines = printed(wide(), width)
    words = re.findall(r"[^\s,]+", "\n".join(lines))
    for figure in FIGURES:
        assert words.count(figure) == FIGURES.count(figure)
    for heading in ("success", "solved", "tasks", "invalid", "missing", "unjudged", "steps"):
        assert heading in words
    assert all(cell_len(line) <= width for line in lines)
    assert not any(re.search(r"\d…", word) for word in words if "ec2" not in word)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_stays_a_row_where_there_is_room(width: int) -> None:
    lines = printed(wide(), width)
    assert any("[bold" in line for line in lines)  # what looks like markup is a name
    if width >= 80:
        rows = [line for line in lines if "%" in line]
        assert len(rows) == 4 and all(len(row.split("%")) == 2 for row in rows)
        assert (LONG in lines[3]) == (width >= 112)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("num_names", [0, 1, 2])
def test_tables_of_other_shapes(width: int, num_names: int) -> None:
    """Without names, with two, with sentences, which are told whole, and with rows that are not full."""
    sentence = "the website turned the agent away, every time that it came there"
    table = Table([f"name {n}" for n in range(num_names)], ["a figure", "another"], ["because of"], title="Title")
    table.add(*[LONG] * num_names, "1234567.89", "50.0% (48, 52)", sentence)
    table.add(*["x"] * num_names, "17")
    lines = printed(table, width)
    text = "\n".join(lines)
    assert "1234567.89" in text and "50.0% (48, 52)" in text and "17" in text and "Title" in text
    words = re.sub(r"[^a-z ]", " ", text.lower()).split()
    assert [word for word in sentence.replace(",", "").split() if word not in words] == []


def test_a_log_has_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(wide())
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines) and any(line.split()[-1:] == ["4.25"] for line in lines)


def test_texts_of_others_move_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(["\x1b[2Jsite"], ["figure"], title="a\x1b]0;title\x07")
    table.add("Shop\x1b[1A", "3")
    print_table(table)
    told = capsys.readouterr().out
    assert "\x1b" not in told and "\x07" not in told and "Shop?[1A" in told
