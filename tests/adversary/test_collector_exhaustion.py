"""A page that wants to use up what the collector has: files on the disk."""

import asyncio
from pathlib import Path

import pytest

from environments.browser.page import downloads
from tests.adversary.hostile_site import serving, visit

FLOOD = """<script>for (let i = 0; i < 60; i++) setTimeout(() => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob(["x"]));
    a.download = `f${i}.txt`;
    a.click();
}, 20 * i)</script>"""


@pytest.mark.slow
def test_a_page_cannot_fill_the_disk_with_small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on bytes is none on files, of which a disk has a number too."""
    found = []
    for limit in (10_000, 3):
        monkeypatch.setattr(downloads, "MAX_DOWNLOADS", limit)
        folder = tmp_path / str(limit)
        with serving(()) as (site, _):
            site.extra = FLOOD
            visit(site, ["flood"], folder, rest_s=8.0)
        found.append(len(list(folder.glob("*"))))
    assert found[0] > 15  # they come where nothing stops them
    assert found[1] <= 10  # three, and what came before the first was refused


def test_downloads_beyond_the_limit_are_cancelled_when_they_begin(tmp_path: Path) -> None:
    async def go() -> None:
        taken = downloads.Downloads(tmp_path, 50.0)
        for number in range(downloads.MAX_DOWNLOADS):
            begun = {"guid": str(number), "suggestedFilename": f"{number}.txt"}
            assert taken.take("Page.downloadWillBegin", begun) == ""
            (tmp_path / str(number)).touch()  # as the browser writes it
            ended = {"guid": str(number), "state": "completed", "receivedBytes": 1, "totalBytes": 1}
            assert taken.take("Page.downloadProgress", ended) == ""
        assert taken.take("Page.downloadWillBegin", {"guid": "more", "suggestedFilename": "x.txt"}) == "more"
        assert taken.take_messages()[-1] == "The page has downloaded too many files; further ones are cancelled."
        assert len(await taken.finish(1)) == downloads.MAX_DOWNLOADS

    asyncio.run(go())
