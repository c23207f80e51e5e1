"""What goes wrong on the way to an application: by a seed, told from what the application did, and never for good."""

import asyncio

import httpx
import pytest

from common.errors import UserError
from common.processes import listen
from environments.apps.router import COOKIE, Router
from environments.apps.trouble import SIGN_IN, EpisodeTrouble, Met, Trouble, with_popup
from tests.answering import Request, answering

PAGE = "Sec-Fetch-Dest: document\r\n"
LINKED = f"{PAGE}Referer: http://trac.localhost/page\r\n"
PART = "Accept: text/html, */*\r\nSec-Fetch-Dest: empty\r\n"


def meet(episode: EpisodeTrouble, path: str, headers: str = PAGE, method: str = "GET") -> Met:
    return episode.meet(f"{method} {path} HTTP/1.1\r\nHost: trac.localhost\r\n{headers}\r\n".encode())


def play(words: list[str], task: str, num_pages: int = 200) -> list[Met]:
    episode = Trouble.read(words).episode(task)
    return [meet(episode, f"/ticket/{number % 7}") for number in range(num_pages)]


def test_the_same_seed_and_task_meet_the_same_whatever_else_is_asked() -> None:
    words = ["delay=0.1", "errors=0.3", "popups=0.3", "seed=4"]
    assert play(words, "a--0") == play(words, "a--0") != play(words, "a--1")
    assert play(words, "a--0") != play([*words[:-1], "seed=5"], "a--0")
    episode = Trouble.read(words).episode("a--0")
    with_parts = []
    for number in range(200):
        assert not meet(episode, "/style.css", PART).popup
        with_parts.append(meet(episode, f"/ticket/{number % 7}"))
    assert with_parts == play(words, "a--0")


def test_shares_are_of_pages_and_no_page_fails_twice_running() -> None:
    met = [page for task in "abcdefgh" for page in play(["errors=0.2", "popups=0.3"], task)]
    assert 0.13 < sum(page.answer is not None for page in met) / len(met) < 0.20  # 0.2 of those after no failure
    assert 0.2 < sum(bool(page.popup) for page in met) / len(met) < 0.3
    opened = {b"HTTP/1.1 500", b"HTTP/1.1 502", b"HTTP/1.1 503"}
    for headers, kinds in ((PAGE, opened), (LINKED, opened | {b""})):  # only where a link leads a connection breaks
        episode = Trouble.read(["errors=0.5"]).episode("a")
        pages = [meet(episode, f"/page/{number}", headers) for number in range(60)]
        assert {page.answer[:12] for page in pages if page.answer is not None} == kinds
    always = play(["errors=1", "popups=1"], "a")
    assert [page.answer is None for page in always[:5]] == [True, False, True, False, True]
    assert always[0] == Met()  # the page that a task begins with
    late = [page.delay_s for page in play(["delay=0.5"], "a")]
    assert min(late) >= 0 and 0.9 < max(late) <= 1.0 and 0.4 < sum(late) / len(late) < 0.6


def test_a_session_expires_once_and_signing_in_leads_back() -> None:
    for task in "abcdefgh":
        episode = Trouble.read(["expiry=1"]).episode(task)
        pages = [meet(episode, f"/page/{number}") for number in range(5)]
        [first, *others] = [number for number, page in enumerate(pages) if page.answer]
        assert 1 <= first <= 4 and len(others) == 4 - first  # it stays so until somebody signs in
        assert b"session has expired" in (pages[first].answer or b"")
        assert meet(episode, "/style.css", PART).answer is None
        back = meet(episode, SIGN_IN).answer or b""
        assert back.startswith(b"HTTP/1.1 303") and f"Location: /page/{first}\r\n".encode() in back
        assert all(meet(episode, "/page").answer is None for _ in range(20))
    assert all(page.answer is None for page in play(["expiry=0"], "a"))


def test_what_was_sent_when_a_session_expired_was_not_done_and_leads_back_to_its_form() -> None:
    episode = Trouble.read(["expiry=1"]).episode("a")
    form = PAGE + "Referer: http://trac.localhost:7070/ticket/3?action=edit\r\n"
    while meet(episode, "/ticket/3", form, method="POST").answer is None:
        pass
    assert b"Location: /ticket/3?action=edit\r\n" in (meet(episode, SIGN_IN).answer or b"")


@pytest.mark.parametrize("word", ["errors", "errors=x", "rain=1", "errors=1.5", "delay=-1", "popups=nan", "seed=0.5"])
def test_what_is_no_trouble_is_one_line(word: str) -> None:
    with pytest.raises(UserError, match=f"^--trouble {word}: "):
        Trouble.read(["delay=0.1", word])


def test_a_popup_is_put_into_pages_however_they_are_sent() -> None:
    popup = b"<dialog open>x</dialog>"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html;charset=utf-8\r\nContent-Security-Policy: default-src\r\nX: y"
    page = b"<html><body>caf\xc3\xa9</BODY></html>"
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/html;charset=utf-8\r\nX: y\r\nContent-Length: 54\r\n\r\n"
    whole += b"<html><body>caf\xc3\xa9" + popup + b"</BODY></html>"
    assert with_popup(head + b"\r\nContent-Length: 31\r\n\r\n" + page, popup) == whole
    chunks = b"9;a=b\r\n" + page[:9] + b"\r\n" + f"{len(page) - 9:x}\r\n".encode() + page[9:] + b"\r\n0\r\n\r\n"
    assert with_popup(head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, popup) == whole
    for other in (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n</body>", head + b"\r\n\r\n<p>no end"):
        assert with_popup(other, popup) == other


def test_a_popup_is_put_into_a_page_that_leaves_out_its_end() -> None:
    """As pages that are minified do."""
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<!doctype html><title>t</title><p>short"
    assert with_popup(page, b"<dialog>x</dialog>").endswith(b"<p>short<dialog>x</dialog>")


@pytest.mark.parametrize(
    "chunks",
    [
        *(b"size\r\n</body>\r\n0\r\n\r\n", b"-7\r\n</body>\r\n0\r\n\r\n", b"\r\n</body>\r\n0\r\n\r\n"),
        *(
            b"7\r\n</body>\r\n",
            b"9\r\n</body>\r\n0\r\n\r\n",
            b"7\r\n</body>",
            b"f" * 5000 + b"\r\n</body>",
            b"</body>",
            b"",
        ),
    ],
)
def test_a_page_whose_chunks_cannot_be_read_passes_as_it_is(chunks: bytes) -> None:
    """A connection that ended here would look like an application that broke down."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    assert with_popup(answer, b"<dialog open>x</dialog>") == answer


def test_the_router_puts_it_on_the_way_and_the_application_hears_nothing_of_what_fails() -> None:
    asked: list[str] = []
    listener = listen(0)
    port = listener.getsockname()[1]

    def page(request: Request) -> tuple[int, bytes]:
        asked.append(request.path)
        return 200, f"<html><body>{request.path} {request.headers.get('Accept-Encoding')}</body></html>".encode()

    async def ask(key: str, path: str, method: str = "GET", **more: bytes) -> str:
        headers = {"cookie": f"{COOKIE}={key}", "sec-fetch-dest": "document"}
        try:
            async with httpx.AsyncClient(trust_env=False) as client:
                answer = await client.request(method, f"http://127.0.0.1:{port}{path}", headers=headers, **more)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            return "broken"
        return f"{answer.status_code} {answer.text}"

    async def play(url: str) -> None:
        served = int(url.rpartition(":")[2])
        async with Router(listener) as router:
            key, _ = router.lead("trac.localhost", served, Trouble.read(["errors=1"]).episode("b"))
            sent = {"content": b"x" * 3_000_000}
            said = [await ask(key, f"/{number}", "POST", **sent) for number in range(12)]
            assert [line[:5] for line in said[::2]] == ["200 <"] * 6
            assert {line[:6] for line in said[1::2]} <= {"500 <!", "502 <!", "503 <!", "broken"}
            assert asked == [f"/{number}" for number in range(0, 12, 2)]
            key, _ = router.lead("trac.localhost", served, Trouble.read(["popups=1"]).episode("a"))
            assert "<dialog" not in await ask(key, "/start")
            page = await ask(key, "/other")
            assert "<dialog open" in page and page.startswith("200 <html><body>/other None")

    with answering(page) as url:
        asyncio.run(play(url))
