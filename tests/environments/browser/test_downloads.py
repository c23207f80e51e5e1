"""Files that a page gives to an agent are kept, whatever they are called."""

from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from data.actions.action import Click
from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from tests.environments import website
from tests.environments.conftest import OneBrowser
from tests.environments.website import find

PAGES = {
    "/shelf": "".join(
        f"<a download='{name}' href='data:text/plain,{text}'>{text}</a> "
        for text, name in {"first": "same.txt", "second": "same.txt", "long": f"{'é' * 200}.txt"}.items()
    )
}


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES)


def test_files_of_one_name_and_of_a_long_one(browser: OneBrowser, url: str) -> None:
    async def run() -> list[Path]:
        async with browser.page(f"{url}/shelf") as page:
            files = []
            for name in ("first", "second", "long"):
                seen = await observe(page, "released")
                await act(page, Click(int(find(seen.tree, name))), seen, url)
                files += await page.downloads.finish(5)
            return files

    files = browser.wait(run())
    assert [file.read_text() for file in files] == ["first", "second", "long"]
    assert [file.name for file in files[:2]] == ["same.txt", "same (1).txt"]
    assert files[2].name == f"{'é' * 98}.txt"
