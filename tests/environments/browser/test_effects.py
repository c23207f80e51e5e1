"""What came of an action is compared with what it was meant to do, and told."""

import json
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

import environments
from environments.browser.acting.effects import looks_the_same
from environments.browser.acting.find_again import align
from environments.browser.config import BrowserConfig
from environments.environment import Observation
from environments.stepping import Transition
from tests.environments import website
from tests.environments.website import find

DRAWN = """<div id=app></div><script>let n = 0; setInterval(() => { app.innerHTML = `<p>${n++} looking</p>` +
    ["Tea", "Salt"].map((name) => `<div><b>${name}</b><button onclick="note.textContent='added ${name}'">Add</button>
    </div>`).join("") }, 40)</script>"""
PAGES = {
    "/links": """<a href="mailto:a@b.c" target=_blank>Mail in a tab</a>
        <a href="web+shop:open"><b>Open the app</b></a> <a href="/nothing">No content</a>
        <a href="#" onclick="document.title = 'Done';
        return false">Works</a><a href="javascript:void(0)">Void</a>""",
    "/results": """<title>Results</title><a href="/leaving">Out</a> <a href="/pushes">Trap</a>
        <a href="/steps">Steps</a>""",
    "/leaving": "<script>addEventListener('load', () => setTimeout(() => { location.href = '/target' }, 20))</script>",
    "/target": "<title>Target</title>",
    "/pushes": """<title>Pushes</title><script>history.pushState(1, "", ""); onpopstate = () =>
        history.pushState(1, "", "")</script>""",
    "/steps": """<title>Steps</title><p id=step>one</p><button onclick="history.pushState(1, '', '?two');
        step.textContent = 'two'">On</button><script>onpopstate = () => step.textContent = 'one'</script>""",
    "/fields": """<label>Check-in <input type=date></label><label>At <input type=time></label>
        <label>Guests <input type=number max=9></label><input type=month aria-label="Month"><input type=color
        aria-label="Color"><select multiple aria-label="Toppings" onchange="note.textContent =
        [...selectedOptions].map((one) => one.text).join('+')"><option>Olives<option>Corn<option>Basil</select>
        <p id=note></p>""",
    "/suggests": """<input aria-label="City"><div contenteditable role=textbox aria-label="Note"></div><ul id=list></ul>
        <p id=note></p><script>for (const field of document.querySelectorAll("[aria-label]")) { let timer, open;
        field.oninput = () => { clearTimeout(timer); timer = setTimeout(async () => {
            list.innerHTML = "<li>" + await (await fetch("/slow?ms=150")).text(); open = true }, 400) };
        field.onkeydown = (event) => { if (event.key !== "Enter") return; event.preventDefault();
            note.textContent = field.ariaLabel + (open ? " chosen" : " too early") } }</script>""",
    "/drawn": DRAWN + "<p id=note></p>",
}  # fmt: skip


class Handler(website.Handler):
    def do_GET(self) -> None:  # noqa: N802, the server's name for it
        if self.path == "/nothing":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> ThreadingHTTPServer:
    for path, page in PAGES.items():
        monkeypatch.setitem(website.PAGES, path, page)
    server = website.start(handler=Handler)
    yield server
    website.stop(server)


def play(tmp_path: Path, site: ThreadingHTTPServer, path: str, *said: str) -> list[Transition]:
    """What came of each of these replies; `{Name}` stands for the number of what reads `Name`."""
    host = f"127.0.0.1:{site.server_address[1]}"
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "T--0", "ques": "Do it.", "web": f"http://{host}{path}"}) + "\n")
    found = []
    with environments.make("sites", test_file=tasks, browser=BrowserConfig(private_hosts=(host,))) as env:
        view = env.reset()
        for action in said:
            if "{" in action:
                name = action.split("{")[1].split("}")[0]
                action = action.replace(f"{{{name}}}", find(view.seen.tree, name))
            found.append(env.step(f"Thought: as told.\n\nAction: {action}"))
            view = found[-1].view
    return found


def notes(found: list[Transition]) -> list[str]:
    return [each.info["notes"] for each in found]


def test_links_that_lead_nowhere_here(tmp_path: Path, site: ThreadingHTTPServer) -> None:
    names = ("Open the app", "Mail in a tab", "No content", "Void", "Works")
    app, mail, nothing, void, works = notes(play(tmp_path, site, "/links", *(f"Click [{{{name}}}]" for name in names)))
    assert app == "The link leads out of the browser, to web+shop:open; no page opens."
    assert "to mailto:a@b.c" in mail and "opened that shows nothing" in mail
    assert "HTTP 204, which has no content: the page stayed" in nothing
    assert void == "The page looks as before." and works == ""


@pytest.mark.slow
def test_back_passes_what_leads_here_again(tmp_path: Path, site: ThreadingHTTPServer) -> None:
    found = play(tmp_path, site, "/results", "Click [{Out}]", "GoBack", "Click [{Trap}]", "GoBack", "GoBack")
    assert [each.view.seen.url.rsplit("/", 1)[1] for each in found] == ["target", "results", "pushes", *["results"] * 2]
    assert notes(found)[1] == "" and "were passed" in notes(found)[3]
    assert notes(found)[4] == "There is no page to go back to."
    found = play(tmp_path, site, "/results", "Click [{Steps}]", "Click [{On}]", "GoBack", "GoBack")
    assert "'one'" in found[2].view.seen.tree and "Results" in found[3].view.seen.tree
    assert notes(found)[2:] == ["", ""]


@pytest.mark.slow
def test_fields_say_what_they_take(tmp_path: Path, site: ThreadingHTTPServer) -> None:
    day = "YYYY-MM-DD, such as 2026-12-25"
    steps = {
        "Type [{Check-in}]; 12/25/2026": 'The textbox reads "2026-12-25" now.',
        "Type [{Check-in}]; 03/04/2026": f"This <input type=date> takes {day}. Nothing was typed.",
        "Type [{InputTime 'At'}]; 3:30 PM": 'The textbox reads "15:30" now.',
        "Type [{Guests}]; two": "This <input type=number> takes a number, such as 12. Nothing was typed.",
        "Type [{Guests}]; 12": 'The browser says of it: "Value must be less than or equal to 9.".',
        "Type [{'Color'}]; reddish": "This <input type=color> takes #rrggbb, such as #ff8800. Nothing was typed.",
        "Click [{option 'Olives'}]": "Chosen now: Olives.",
        "Click [{option 'Corn'}]": "Chosen now: Olives, Corn.",
        "Click [{option 'Olives'}] ": "Chosen now: Corn.",
        "Type [{Toppings}]; Basil": "Chosen now: Corn, Basil.",
    }
    found = play(tmp_path, site, "/fields", *steps)
    assert notes(found) == list(steps.values())
    assert "StaticText 'Corn+Basil'" in found[-1].view.seen.tree


def test_suggestions_come_before_enter(tmp_path: Path, site: ThreadingHTTPServer) -> None:
    found = play(tmp_path, site, "/suggests", "Type [{City}]; Lis", "Type [{'Note'}]; Lis")
    assert "'City chosen'" in found[0].view.seen.tree and "'Note chosen'" in found[1].view.seen.tree


def test_what_is_drawn_anew_is_found_again(tmp_path: Path, site: ThreadingHTTPServer) -> None:
    for transition in play(tmp_path, site, "/drawn", *["Click [{button 'Add'}]"] * 2):
        assert "'added Tea'" in transition.view.seen.tree


@pytest.mark.parametrize(
    ("before", "index", "after", "found"),
    [
        ("a b c", 1, "x a b c", 2),
        ("a b", 1, "a", None),
        ("tea + salt +", 1, "tea + salt +", 1),
        ("tea + salt +", 3, "new + tea + salt +", 5),
        ("tea + salt +", 1, "salt + tea +", None),
        ("oil + tea + salt +", 3, "oil + salt +", None),  # its row is gone
        ("+ + +", 1, "+ + +", 1),
        ("+ + +", 2, "+ +", None),
    ],
)
def test_one_of_several_alike_is_known_by_its_neighbors(before: str, index: int, after: str, found: int | None) -> None:
    looks = [[("", word) for word in words.split()] for words in (before, after)]
    assert align(looks[0], index, looks[1]) == found


def test_a_look_that_changed_is_no_page_as_before() -> None:
    one, focused, colored = (
        Observation("http://a/", tree, {}, image)
        for tree, image in (("[1] link 'A'", "x"), ("[1] link 'A' focused: True", "x"), ("[1] link 'A'", "y"))
    )
    assert looks_the_same(one, focused) and not looks_the_same(one, colored)
