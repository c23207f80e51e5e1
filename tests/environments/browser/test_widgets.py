"""Files, sliders and things to drag: what a plain click or a key does not do."""

from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from data.actions.action import ActionError, Drag
from tests.environments.conftest import OneBrowser
from tests.environments.steps import click, do, write
from tests.environments.website import find


@pytest.fixture
def url(wild: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{wild.server_address[1]}"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "letter.txt").write_text("Dear reader")
    (tmp_path / "photo.png").write_bytes(b"no picture")
    return tmp_path


def test_a_file_is_given_by_its_name(browser: OneBrowser, url: str, files: Path) -> None:
    _, notes = do(browser, f"{url}/upload", click("Your file"), upload_dir=files)
    assert "letter.txt, photo.png" in notes
    tree, notes = do(browser, f"{url}/upload", write("Your file", "photo.png"), upload_dir=files)
    assert "StaticText 'photo.png'" in tree and "photo.png was chosen" in notes


def test_a_button_may_stand_for_a_file_input(browser: OneBrowser, url: str, files: Path) -> None:
    steps = click("Attach"), write("Attach", "letter.txt")
    tree, _ = do(browser, f"{url}/upload", *steps, upload_dir=files)
    assert "attached letter.txt" in tree


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "nothing.txt"])
def test_no_other_file_is_given(browser: OneBrowser, url: str, files: Path, name: str) -> None:
    with pytest.raises(ActionError) as error:
        do(browser, f"{url}/upload", write("Your file", name), upload_dir=files)
    assert "There is no such file" in error.value.reason


@pytest.mark.parametrize(("text", "value"), [("45", "45"), ("-3", "0")])
def test_a_slider_is_moved_by_its_keys(browser: OneBrowser, url: str, text: str, value: str) -> None:
    tree, notes = do(browser, f"{url}/drag", write("slider 'Price'", text))
    assert f"stands at {value}" in notes and "slider 'Price' focused: True orientation: horizontal" in tree


def test_a_slider_without_keys_is_dragged(browser: OneBrowser, url: str) -> None:
    _, notes = do(browser, f"{url}/drag", write("slider 'Volume'", "50"))
    assert "stands at 50" in notes


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("Nowhere", "5", "does not say where it stands"),
        ("Endless", "5", "does not say where it stands"),
        ("Leaving", "5", "does not say where it stands"),
        ("Tiny", "nan", "takes a number"),
    ],
)
def test_a_slider_may_say_anything(browser: OneBrowser, url: str, name: str, text: str, reason: str) -> None:
    with pytest.raises(ActionError) as error:
        do(browser, f"{url}/odd-sliders", write(f"slider '{name}'", text))
    assert reason in error.value.reason


def test_a_slider_of_tiny_steps_is_left_before_it_arrives(browser: OneBrowser, url: str) -> None:
    assert "stands at" in do(browser, f"{url}/odd-sliders", write("slider 'Tiny'", "5"))[1]


def test_things_are_dragged(browser: OneBrowser, url: str) -> None:
    def drag(what: str, onto: str):
        return lambda tree: Drag(int(find(tree, what)), int(find(tree, onto)))

    tree, _ = do(browser, f"{url}/drag", drag("'Thing'", "'Card'"))
    assert "moved by -98" in tree
    tree, _ = do(browser, f"{url}/drag", drag("'Card'", "'Box'"))
    assert "dropped the card" in tree


def test_what_is_covered_is_not_clicked(browser: OneBrowser, wild: ThreadingHTTPServer, url: str) -> None:
    with pytest.raises(ActionError) as error:
        do(browser, f"{url}/covered", click("Behind"))
    assert 'covers the element: <div> "Cookies?' in error.value.reason
