"""Actions on real pages: what they do, and that what they say of it is true."""

from typing import Any

import pytest

from data.actions.action import CANNOT_EXECUTE, ActionError, Click, GoBack, Restart, Scroll, Wait
from tests.environments.conftest import OneBrowser
from tests.environments.steps import click, do, write
from tests.environments.website import find


def test_click_follows_a_link(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", click("Next page"))
    assert "heading 'Second page'" in tree


def test_type_replaces_the_text_and_presses_enter(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", write("Search here", "new wörds 😀"))
    assert "Results for new wörds 😀" in tree


def test_type_keeps_lines_in_a_textarea(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", write("Message", "one\ntwo"))
    assert "StaticText 'one'" in tree and "StaticText 'two'" in tree


@pytest.mark.parametrize("text", ["Day return", "day  RETURN", "return"])
def test_type_chooses_the_option_of_a_menu(browser: OneBrowser, url: str, text: str) -> None:
    tree, _ = do(browser, f"{url}/", write("combobox 'Fare'", text))
    assert "fare r" in tree
    assert "option 'Day return' selected: True" in tree


def test_click_chooses_an_option(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", click("option 'Day return'"))
    assert "fare r" in tree


def test_click_on_a_menu_tells_how_to_use_it(browser: OneBrowser, url: str) -> None:
    _, notes = do(browser, f"{url}/", click("combobox 'Fare'"))
    assert "options" in notes


def test_type_sets_a_date(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", write("Date 'Day'", "2026-11-21"))
    assert "day 2026-11-21" in tree


def test_click_ticks_a_box(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", click("checkbox 'Agree'"))
    assert "checkbox 'Agree' focused: True checked: true" in tree


def test_a_dialog_is_accepted_and_told(browser: OneBrowser, url: str) -> None:
    tree, notes = do(browser, f"{url}/", click("Ask me"))
    assert "yes sure" in tree
    assert "Sure?" in notes


def test_scrolling_the_window_and_an_area(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", Scroll(None, "down"), Scroll(None, "down"))
    assert "far below" in tree and "Harbour'" not in tree.replace("RootWebArea 'Home'", "")
    _, notes = do(browser, f"{url}/", Scroll(None, "up"))
    assert "cannot be scrolled further up" in notes
    _, notes = do(browser, f"{url}/", lambda tree: Scroll(int(find(tree, "box top")), "down"))
    assert notes == ""


def test_go_back_and_restart(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/", click("Next page"), GoBack())
    assert "heading 'Harbour'" in tree
    tree, _ = do(browser, f"{url}/", click("Next page"), Restart())
    assert "heading 'Harbour'" in tree


def test_wait_waits_for_what_comes_late(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/spa", click("Load"), Wait())
    assert "loaded at last" in tree


@pytest.mark.parametrize(
    "action",
    [
        Click(999),
        click("Greyed out"),
        write("heading 'Harbour'", "words"),
        write("combobox 'Fare'", "First class"),
        write("combobox 'Fare'", "no such fare"),
        write("Date 'Day'", "tomorrow"),
        GoBack(),
        Scroll(999, "down"),
    ],
)
def test_what_cannot_be_done_is_said(browser: OneBrowser, url: str, action: Any) -> None:
    with pytest.raises(ActionError, match="cannot be executed") as error:
        do(browser, f"{url}/", action)
    assert str(error.value) == CANNOT_EXECUTE
