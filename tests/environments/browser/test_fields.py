"""What a field makes of what it is given is told, and one that cannot take it is left as it was."""

import asyncio
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page
from tests.environments import website
from tests.environments.conftest import OneBrowser
from tests.environments.steps import click, do, told, write

PAGES = {
    "/menus": """<title>menus</title><select id=stays aria-label=Stays><option>A<option>B</select><script>
        stays.onchange = () => stays.value = "A"</script><select aria-label=Towns>
        <option>Springfield (IL)<option>Springfield (MA)<optgroup label=Closed disabled>
        <option>Rome</optgroup></select><select id=all multiple aria-label=All></select><script>
        for (let n = 0; n < 99; n++) all.add(new Option(`n${n}`, n, true, true))</script>""",
    "/editors": """<title></title><div contenteditable role=textbox aria-label=Drops oninput="this.textContent = ''">x
        </div><div contenteditable role=textbox aria-label=Keeps>x</div><input aria-label=Long oninput="value =
        'y'.repeat(4e4); setCustomValidity('z'.repeat(4e4))">""",
    "/checks": """<title>checks</title><input aria-label=City
        onkeydown="if (event.key == 'Enter') this.value = 'Lisbon'">
        <input aria-label=Amount onchange="this.value = this.value.replace(',', '.')">
        <input type=password aria-label=Secret onchange="this.value = ''">""",
    "/sets": """<title>0</title><input type=range max=50 value=50 aria-label=Range oninput="document.title += value">
        <input type=color aria-label=Color oninput="document.title += value">""",
    "/around": """<title>t</title><div role=combobox aria-label=City style="width:600px"><input style="width:99px"
        oninput="document.title += value"></div><div style="position:relative"><div contenteditable id=editor
        style="height:40px" oninput="document.title += this.innerText"></div><p style="position:absolute; top:0;
        margin:0; pointer-events:none">Write a reply</p></div><div style="position:relative; height:90px"><input
        style="width:200px"><p style="position:absolute; top:50px; pointer-events:none">Below</p></div>""",
    "/off": """<title>off</title><fieldset disabled><a href="#terms" onclick="document.title = 'followed'">Terms</a>
        <label>Agree <input type=checkbox></label></fieldset>""",
    "/parts": """<title>parts</title><label>Day <input type=date></label>
        <label>At <input type=datetime-local></label>""",
    "/picker": """<title>0</title><label>Day <input type=date value=2026-03-12 oninput="document.title = value"
        onfocus="setTimeout(() => this.showPicker(), 70)"></label>""",
    "/icons": """<title>t</title><style>b::before { content: "\\f24a"; font-weight: 400 }</style>
        <a href="#1" onclick="document.title += 1"><b></b> Rooms</a>
        <a href="#2" onclick="document.title += 2">Rooms</a>""",
    "/lists": """<title>lists</title><label>Port <select size=3 id=port><option>Faro<option>Lagos<option>Olhao
        <option>Sines<option>Viana</select></label><label>All <select size=2 multiple><option>Water<option>Fuel
        <option>Crane</select></label>""",
    "/takes-none": """<title>t</title><style>* { display:block }</style>
        <a href="#x" onclick="document.title += 1">Terms</a>
        <label>Agree <input type=checkbox onclick="document.title += 2"></label>
        <form onsubmit="return false"><button onclick="document.title += 3">Send</button></form>
        <button onclick="document.title += 4">Book</button>""",
    "/form": """<title>form</title><form onsubmit="document.title += 1; setTimeout(() => this.reset());
        return false"><input required aria-label=Name><button>Send</button></form>""",
    "/bubble": """<title>f</title><form><input required aria-label=Name onfocus="document.title += 'f'"
        onblur="document.title += 'b'"><button>Send</button></form>""",
    "/nameless": """<title>0</title><label><span style="display:none">Payee:</span><input placeholder=" Who  is paid"
        oninput="document.title += value"></label><input name=flag oninput="document.title += value">""",
    "/files": """<title>files</title><input type=file accept=".png, application/pdf" aria-label=One>
        <input type=file multiple aria-label=Many>""",
}  # fmt: skip


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES)


def test_a_field_without_a_name_is_found_by_what_an_attribute_says(browser: OneBrowser, url: str) -> None:
    payee, flag, title = told(browser, f"{url}/nameless", write("textbox 'Who is paid'", "1"), write("'flag'", "2"))
    assert (payee, flag, title) == ("", "", "012")


def test_menus(browser: OneBrowser, url: str) -> None:
    choices = ("Stays", "B"), ("Towns", "Springfield"), ("Towns", "Rome"), ("Towns", "Paris"), ("All", "n5")
    stays, several, disabled, none, many, _ = told(browser, f"{url}/menus", *(write(f"'{a}'", b) for a, b in choices))
    assert stays == "The page did not keep the choice. Chosen now: A."
    assert several == "Several options of the menu read so; type all of one."
    assert (disabled, none) == ("The option is disabled.", "The menu has no such option.")
    assert many.endswith("n29 and 69 more.")


def test_editors_and_texts_without_an_end(browser: OneBrowser, url: str) -> None:
    drops, keeps, long, _ = told(browser, f"{url}/editors", *(write(f"'{a}'", "b") for a in ("Drops", "Keeps", "Long")))
    assert drops == 'The textbox reads "" now.' and keeps == ""
    assert "39,500 characters cut" in long and len(long) < 1300


def test_what_a_field_reads_after_enter(browser: OneBrowser, url: str) -> None:
    steps = write("'City'", "Lis"), write("'Amount'", "12,5"), write("'Secret'", "open")
    *said, _ = told(browser, f"{url}/checks", *steps)
    assert said == ['After ENTER it reads "Lisbon".', 'After ENTER it reads "12.5".', ""]


def test_what_a_press_would_set_is_not_pressed(browser: OneBrowser, url: str) -> None:
    steps = write("'Range'", "high"), write("'Range'", "10"), write("'Color'", "#ff8800")
    refused, *done, title = told(browser, f"{url}/sets", *steps)
    assert refused == "This <input type=range> takes a number, such as 12. Nothing was typed."
    assert done == ["", ""] and title == "010#ff8800"


def test_what_stands_for_a_textbox(browser: OneBrowser, url: str) -> None:
    """A box around it, and a text over it that lets the mouse through; not one that lies beside it."""
    steps = write("combobox 'City'", "R"), write("Write a reply", "S"), write("'Below'", "T")
    *done, below, title = told(browser, f"{url}/around", *steps)
    assert all("the textbox it stands for" in said for said in done)
    assert below.endswith("it does not take the focus. Nothing was typed. The element was pressed.")
    assert title.startswith("tRS") and "T" not in title


def test_the_parts_of_a_date_can_be_pressed(browser: OneBrowser, url: str) -> None:
    """Chromium ended at a question that our scripts asked of them."""
    parts = ("'Month Month'", "'mm'", "Show date picker", "Hours", "AM/PM")
    *said, _ = told(browser, f"{url}/parts", *map(click, parts))
    assert said == [""] * len(parts)


def test_a_date_stays_where_the_page_opens_the_picker(browser: OneBrowser, url: str) -> None:
    """ENTER would choose there what the field held before."""
    assert told(browser, f"{url}/picker", write("'Day'", "2026-03-20")) == ["", "2026-03-20"]


def test_an_icon_of_a_font_makes_no_other_name(browser: OneBrowser, url: str) -> None:
    """The tree has it in the name, the text of the element has not, and another one reads like that text."""
    assert told(browser, f"{url}/icons", click("Rooms'")) == ["", "t1"]


def test_the_options_of_a_list_in_a_label(browser: OneBrowser, url: str) -> None:
    """The label is for the list: another option than the chosen one is not pressed in its place."""
    steps = click("option 'Viana'"), click("option 'Olhao'"), click("option 'Crane'")
    tree, said = do(browser, f"{url}/lists", *steps)
    assert "option 'Olhao' selected: True" in tree and tree.count("selected: True") == 2
    assert said == "Chosen now: Crane."


def test_what_takes_no_text_is_not_pressed_for_it(browser: OneBrowser, url: str) -> None:
    steps = [write(name, "two") for name in ("link 'Terms'", "checkbox", "button 'Send'", "button 'Book'")]
    *refused, book, title = told(browser, f"{url}/takes-none", *steps)
    assert all(said.endswith("takes none. Nothing was done.") for said in refused)
    assert book.endswith("takes none. The element was pressed.") and title == "t4"  # it might have brought a textbox


def test_a_form_that_the_browser_does_not_send(browser: OneBrowser, url: str) -> None:
    """One that is sent and then cleared was sent."""
    steps = click("button 'Send'"), write("'Name'", "x"), write("'Name'", "y"), click("button 'Send'")
    unsent, *_, title = told(browser, f"{url}/form", *steps)
    assert unsent == 'The form was not sent. The browser says of <input> "Name": Please fill out this field.'
    assert title == "form11"


def test_a_form_that_was_not_sent_comes_to_rest(browser: OneBrowser, url: str) -> None:
    """Chromium drew it without end under its own bubble, and on a busy machine answered nothing more."""

    async def run() -> tuple[float, bool, str]:
        async with browser.page(f"{url}/bubble") as page:
            await page.send("Performance.enable")
            seen = await observe(page, "released")
            await act(page, click("button 'Send'")(seen.tree), seen, url)
            before = await _cpu_s(page)
            await asyncio.sleep(1)
            spent_s = await _cpu_s(page) - before
            is_focused = await page.run("() => document.activeElement.tagName === 'INPUT'")
            return spent_s, is_focused, await page.run("() => document.title")

    spent_s, *rest = browser.wait(run())
    assert spent_s < 0.05  # 0.2 with the bubble
    assert rest == [True, "ff"]  # the focus that the browser gives, and nothing of ours


async def _cpu_s(page: Page) -> float:
    """Of the page's process."""
    metrics = (await page.send("Performance.getMetrics"))["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime")


def test_a_link_among_disabled_fields(browser: OneBrowser, url: str) -> None:
    followed, refused, title = told(browser, f"{url}/off", click("link 'Terms'"), click("checkbox"))
    assert (followed, refused, title) == ("", "The element is disabled.", "followed")


def test_files(browser: OneBrowser, url: str, tmp_path: Path) -> None:
    for name in ("a.txt", "b.png", "c, d.pdf"):
        (tmp_path / name).write_bytes(b"1")
    texts = ("One", "a.txt"), ("One", "c, d.pdf"), ("One", "a.txt, b.png"), ("Many", "a.txt, b.png"), ("Many", "b.png")
    steps = [write(f"'{name}'", text) for name, text in texts]
    odd, fits, *rest, _ = told(browser, f"{url}/files", *steps, upload_dir=tmp_path)
    assert odd == "The file a.txt was chosen. The page asks for .png, application/pdf, which a.txt is not."
    assert fits == "The file c, d.pdf was chosen in place of a.txt."
    assert rest[0] == "This element takes one file. Nothing was chosen."
    assert rest[1] == "The files a.txt, b.png were chosen."
    assert rest[2] == "The file b.png was chosen in place of a.txt."
