"""What is read without a device: the elements of its screen, sets of tasks, settings."""

import asyncio
from pathlib import Path

import pytest

from common.errors import UserError
from environments.android.config import DeviceConfig
from environments.android.hierarchy import read_hierarchy, write_hierarchy
from environments.android.task_sets import read_task_set
from environments.android.tree import tree_of
from environments.android.world import World
from environments.faults import DeviceError
from environments.touch.screen import Element
from tests.environments.recording_screen import SIZE, RecordingScreen


def test_a_hierarchy_is_written_and_read() -> None:
    elements = asyncio.run(RecordingScreen().tree())
    assert read_hierarchy(write_hierarchy(elements, SIZE, "org.elcano.home")) == elements
    for text in ("", "no XML", "<hierarchy><node"):
        with pytest.raises(DeviceError):
            read_hierarchy(text)


def test_what_stands_in_a_field_is_listed_below_it() -> None:
    field = Element("textbox", "it's", (0, 0, 9, 9), "Name", is_editable=True, is_focused=True)
    title = Element("RootWebArea", "Notes - Phone", (0, 0, *SIZE))
    [page, read] = read_hierarchy(write_hierarchy([title, field], SIZE, "x"))
    tree, nodes = tree_of([page, read])
    assert tree == """[1] RootWebArea 'Notes - Phone'\n[2] textbox 'Name' focused: True\n\t[3] StaticText "it's\""""
    assert nodes[3]["union_bound"] == [0, 0, 9, 9]


def test_what_only_holds_others_is_not_listed() -> None:
    outer = '<node class="android.widget.FrameLayout" text="" bounds="[0,0][100,100]">'
    inner = (
        '<node class="android.widget.TextView" text="&#10;two" content-desc="" bounds="[0,0][9,9]" clickable="false"/>'
    )
    outside = '<node class="android.widget.TextView" text="gone" bounds="[0,0][0,0]"/>'
    [element] = read_hierarchy(f"<hierarchy>{outer}{inner}{outside}</node></hierarchy>UI hierchary dumped to: /dev/tty")
    assert (element.kind, element.text) == ("text", "\ntwo")


def test_task_sets_of_digirl(tmp_path: Path) -> None:
    path = tmp_path / "webshop_test.txt"
    path.write_text('Go to ebay.com, search for "acer"\n\nGo to costco.com\nGo to costco.com\n')
    first, second, third = read_task_set(path)
    assert (first.id, first.ques, first.max_steps) == ("Webshop-test--000", 'Go to ebay.com, search for "acer"', 20)
    assert second.ques == third.ques and second.id != third.id and first.web == "android://home"
    (tmp_path / "mine.txt").write_text("Open the clock\n")
    [own] = read_task_set(tmp_path / "mine.txt")
    assert (own.id, own.max_steps, own.steps_within(7)) == ("mine--000", None, 7)
    (tmp_path / "empty.txt").write_text("\n")
    for name in ("empty.txt", "missing.txt"):
        with pytest.raises(UserError, match=name):
            read_task_set(tmp_path / name)
    with pytest.raises(UserError, match="--test_file"):
        asyncio.run(World().tasks())


@pytest.mark.parametrize(
    "settings", [{"devices": ("a",), "avd": "b"}, {"snapshot": "a"}, {"avd": "a", "num_emulators": 65}]
)
def test_settings_that_do_not_go_together(settings: dict) -> None:
    with pytest.raises(UserError, match="--"):
        DeviceConfig(**settings)
