"""PDFs that an agent downloads are read: real files, printed by the browser, through real downloads."""

import asyncio
import base64
import zlib
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from collection.agent.documents import MAX_FILES, DocumentReader
from collection.agent.pdf import MAX_CHARS, excerpt, read_pdf
from data.trajectory import Trajectory, read_trajectory
from tests.collection.collector import Collector, task
from tests.environments.conftest import OneBrowser

PAPER = "".join(
    f"<h1 style='break-before:page'>Chapter {number}</h1><p>{text}</p>"
    for number, text in enumerate(["We sail at dawn.", "The keel is 31 metres long.", "The crew is paid in silver."], 1)
)


@pytest.fixture(scope="module")
def pdf(browser: OneBrowser) -> bytes:
    async def run() -> bytes:
        async with browser.page("about:blank") as page:
            await page.run("(text) => { document.body.innerHTML = text }", PAPER)
            return base64.b64decode((await page.send("Page.printToPDF"))["data"])

    return browser.wait(run())


def take(
    collector: Collector, wild: ThreadingHTTPServer, pdf: bytes, path: str, script: str, **flags: str
) -> Trajectory:
    wild.pdf = pdf
    url = f"http://127.0.0.1:{wild.server_address[1]}"
    done = collector.run([task(1, url + path, script)], api_localhost=f"{url}/predict", **flags)
    assert done.returncode == 0, done.stderr
    return read_trajectory(collector.results / "taskT--1")


@pytest.mark.parametrize("link", ["Read the paper", "Download the paper"])
def test_the_agent_reads_what_it_downloads(
    collector: Collector, wild: ThreadingHTTPServer, pdf: bytes, link: str
) -> None:
    trajectory = take(collector, wild, pdf, "/papers", f"Click {{{link}}} | Wait | ANSWER; 31")
    before, after, later = trajectory.trees
    assert "keel" not in before and "keel" not in later
    assert after.startswith("[1] RootWebArea 'Papers'")
    assert "(3 pages) reads:\n[page 1]\nChapter 1" in after and "The keel is 31 metres long." in after
    assert "was downloaded" in trajectory.steps[1].notes
    assert list((collector.results / "downloads" / "taskT--1").iterdir())  # no other folder need be writable


def test_a_task_may_begin_on_a_pdf(collector: Collector, wild: ThreadingHTTPServer, pdf: bytes) -> None:
    assert "The keel is 31 metres" in take(collector, wild, pdf, "/paper.pdf", "ANSWER; 31").trees[0]


def test_a_model_may_read_it(collector: Collector, wild: ThreadingHTTPServer, pdf: bytes) -> None:
    url = f"http://127.0.0.1:{wild.server_address[1]}"
    flags = {"api_file_assistant": True, "api_base": f"{url}/v1", "api_model": "reader"}
    script = "Click {Read the paper} | ANSWER; x"
    trajectory = take(collector, wild, pdf, "/papers", script, **flags)
    asked = next(body for body in wild.requests if body.get("model") == "reader")
    assert "The keel is 31 metres" in asked["messages"][1]["content"]
    assert "was read for you:\nThought: as told." in trajectory.trees[1]


def test_a_damaged_pdf_is_told(collector: Collector, wild: ThreadingHTTPServer) -> None:
    trajectory = take(collector, wild, b"%PDF-1.7\nnothing more", "/papers", "Click {Read the paper} | ANSWER; x")
    assert "paper.pdf cannot be read: it is damaged, encrypted or no PDF." in trajectory.trees[1]


def test_other_files_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2")
    assert asyncio.run(DocumentReader().read([tmp_path / "a.csv", tmp_path / "gone"], "?")) == ""


def test_pages_come_apart(pdf: bytes, tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(pdf)
    pages = asyncio.run(read_pdf(tmp_path / "paper.pdf"))
    assert [page.split("\n")[0] for page in pages] == ["Chapter 1", "Chapter 2", "Chapter 3"]


def kilobyte_of_text(num_chars: int) -> bytes:
    """A PDF of a kilobyte that says so many characters: its font calls each of a hundred thousand letters 256."""
    words = zlib.compress(b"BT /F 9 Tf " + b"(" + b"A" * (num_chars // 256) + b") Tj ET", 9)
    names = zlib.compress(b"begincmap 1 beginbfchar <41> <" + b"00610020" * 128 + b"> endbfchar endcmap", 9)
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Resources<</Font<</F 4 0 R>>>>/Contents 5 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        *(b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(one), one) for one in (words, names)),
    ]
    file, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    table = b"0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return file + b"xref\n0 7\n%btrailer<</Size 7/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (table, len(file))


def test_a_small_pdf_that_says_very_much_is_cut(tmp_path: Path) -> None:
    """Whoever looks at its words would keep all other sessions waiting."""
    (tmp_path / "b.pdf").write_bytes(kilobyte_of_text(20_000_000))
    assert (tmp_path / "b.pdf").stat().st_size < 2000
    [page] = asyncio.run(read_pdf(tmp_path / "b.pdf"))
    assert page.startswith("a a a ") and len(page) == MAX_CHARS


def test_many_pdfs_at_once_are_not_all_read(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.pdf" for number in range(MAX_FILES + 2)]
    for file in files:
        file.write_bytes(b"%PDF-1.7\nnothing more")
    text = asyncio.run(DocumentReader().read(files, "?"))
    assert text.count("cannot be read") == MAX_FILES and text.endswith("2 further PDF files were not read.")


def test_the_pages_that_matter_are_shown() -> None:
    pages = [f"page about the sea, number {number} " + "x" * 100 for number in range(50)]
    pages[37] += " the keel is long"
    shown = excerpt(pages, "How long is the keel?", 400)
    assert "[page 38]" in shown and "[page 1]" in shown
    assert shown.index("[page 1]") < shown.index("[page 38]") and len(shown) < 500
