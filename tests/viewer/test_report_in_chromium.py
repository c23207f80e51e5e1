"""The page of a report on data in a real Chromium: numbers, bars and pictures, and nothing of it runs."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.environments.conftest import OneBrowser, open_browser
from tests.viewer.chromium import served, until
from tests.viewer.conftest import TOKEN
from tests.viewer.test_reports import report
from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index
from viewer.reports import open_reports

EVIL = "<img src=x onerror='window.caught=1'>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    yield from open_browser(tmp_path_factory)


def test_a_report_is_shown(browser: OneBrowser, tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "JPEG")
    tile = {"id": EVIL, "action": EVIL, "jpeg": base64.b64encode(picture.getvalue()).decode()}
    file = report(tmp_path / "report.json", data=EVIL, actions={EVIL: 3, "Click": 2}, tiles=[tile])
    answers = Answers(Index([], tmp_path / "index.sqlite"), open_reports([file]))

    async def look(address: str) -> list[object]:
        async with browser.page(address) as page:
            await until(page, "document.querySelectorAll('meter').length === 2")
            await until(page, "document.querySelector('.wall img')?.naturalWidth === 40")
            shown = await page.run(
                "() => [document.querySelector('h1').textContent, document.querySelectorAll('img').length]"
            )
            caught = await page.send(
                "Runtime.evaluate", {"expression": "Boolean(window.caught)", "returnByValue": True}
            )
            return [*shown, caught["result"]["value"]]

    with served(create_app(answers, TOKEN)) as address:
        assert browser.wait(look(address)) == [EVIL, 1, False]
