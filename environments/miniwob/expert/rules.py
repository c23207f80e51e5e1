"""The rules: what to do for tasks that read so. The first that fits decides; `None`: it does not know."""

import datetime
import re
from collections.abc import Callable, Sequence

from environments.miniwob.expert.seen import Move, Seen, click, same, type_into
from environments.sites.expert.reading import Element

Rule = Callable[[Seen, re.Match[str]], Move | None]
RULES: list[tuple[re.Pattern[str], Rule]] = []
WAIT = Move("Wait", "It is not time yet.")


def rule(pattern: str) -> Callable[[Rule], Rule]:
    """Use the function for tasks that read so."""

    def add(function: Rule) -> Rule:
        RULES.append((re.compile(pattern, re.IGNORECASE), function))
        return function

    return add


@rule(r"^Click the button\.$")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return next(map(click, seen.all("button")), None)


@rule(r"Click button (\w+), (?:wait (\d+) seconds, )?then click button (\w+)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    first, wait_s, second = match.groups()
    if seen.step == 0:
        return seen.click(first, "button", needs=(first, second))
    return WAIT if seen.step <= int(wait_s or 0) else seen.click(second, "button")


@rule(r'Click button (\w+)|Click on the "(.+)" button|button in the dialog box labeled "(.+)"|on the link "(.+)"\.$')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    name = next(filter(None, match.groups()))
    name = "Close" if name == "x" else name
    for role in ("button", "link"):
        if move := seen.click(name, role):
            return move
    texts = seen.all("StaticText")[1:]  # a link may be a text among others; the first text is the task's
    found = [text for text in texts if same(text.name, name)]
    return click(found[-1], (name,)) if found else _open_next(seen)


def _open_next(seen: Seen) -> Move | None:
    """The next tab or section that was not opened yet."""
    tabs = [tab for tab in seen.all("tab") if tab.name.strip()]
    opened = sum(action.startswith("Click") for action in seen.actions)
    return click(tabs[opened % len(tabs)]) if tabs else None


@rule(r"Close the dialog box")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.click("Close")


@rule(r"Click on Tab #(\d)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.click(f"Tab #{match[1]}", "link")


@rule(r"Expand the section below")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    closed = (tab for tab in seen.all("tab") if "expanded: False" in tab.properties and tab.name.startswith("Section"))
    section = next(closed, None)
    return click(section, (section.name, "Submit")) if section else seen.click("Submit", "button")


@rule(r'Click on a "(.+)" widget')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    roles = {"textarea": "textbox", "text": "textbox"}
    return next(map(click, seen.all(roles.get(match[1], match[1]))), None)


@rule(r"^Select (.+) from the (?:scroll )?list and click Submit")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.in_turn(match[1].split(", "), "option")


@rule(r"^Select (?!words)(.+) and click Submit")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    names = [] if match[1] == "nothing" else match[1].split(", ")
    return seen.in_turn(names, "checkbox", "radio", "StaticText")


@rule(r"^Select (\S+>\S+)$")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    left = tuple(match[1].split(">"))[seen.step :]
    return seen.click(left[0], "menuitem", needs=left) if left else None


@rule(r'Click the "Menu" button, .* item labeled "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    if item := seen.click(match[1], "menuitem"):
        return item
    way = ("Menu", "Playback", "Zoom")[seen.step :]
    return seen.click(way[0], needs=(way[0], match[1])) if way else None


@rule(r'^Choose (.+) from the dropdown, then click the button labeled "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.in_turn([match[1]], "option", button=match[2])


@rule(r"as odd or even")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    elements, choices = seen.page.elements, []
    for place, element in enumerate(elements):
        if element.role == "StaticText" and re.fullmatch(r"-?\d+", element.name):
            even = int(element.name) % 2 == 0
            choices.append(elements[place + 1 if even else place - 1])
    return click(choices[seen.step]) if seen.step < len(choices) else seen.click("Submit", "button")


@rule(r"numbers in ascending order")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.click(str(seen.step + 1), "StaticText")


@rule(r"Find (.+) in the contact book and click on their (\w+)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    if not seen.find(match[1], "heading"):
        return seen.click(">", "link", needs=(">", match[1]))
    label, elements = seen.find(f"{match[2]}:"), seen.page.elements
    return click(elements[elements.index(label) + 1]) if label else None


@rule(r"Buy the ticket with the (cheapest cost|shortest duration)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    offers = []
    for above, element in zip(seen.page.elements, seen.page.elements[1:], strict=False):
        if book := re.match(r"Book for \$(\d+)", element.name):
            hours = re.match(r"(\d+)h(?: (\d+)m)?", above.name)
            minutes = int(hours[1]) * 60 + int(hours[2] or 0) if hours else 10**6
            offers.append((int(book[1]) if "cost" in match[1] else minutes, element))
    return click(min(offers, key=lambda offer: offer[0])[1]) if offers else None


@rule(r'folder or file named "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    texts = [text for text in seen.all("StaticText")[1:] if text.name.strip()]
    if found := [text for text in texts if same(text.name, match[1])]:
        return click(found[0], (match[1],))
    return click(texts[seen.step % len(texts)], (match[1],)) if texts else None


@rule(r"Generate (?:an? )?(even|odd|number (less|greater) than (-?\d+))")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    numbers = (text.name.strip() for text in seen.all("StaticText"))
    shown = next((int(text) for text in numbers if re.fullmatch(r"-?\d+", text)), None)
    good = shown is not None and (
        (match[1] == "even" and shown % 2 == 0)
        or (match[1] == "odd" and shown % 2 == 1)
        or (match[2] == "less" and shown < int(match[3]))
        or (match[2] == "greater" and shown > int(match[3]))
    )
    return seen.click("Submit" if good else "Generate", "button")


@rule(r'Enter an item that starts with "(.+?)"(?: and ends with "(.+)")?')
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    begins, ends = match[1], match[2] or ""
    if seen.step == 0:
        fields = seen.all("textbox")
        return type_into(fields[-1], fields[-1].role, (begins, "Submit")) if fields else None
    offered = seen.all("menuitem", "option", "listitem", "StaticText")
    fitting = [each for each in offered if each.name.startswith(begins) and each.name.endswith(ends)]
    fitting = [each for each in fitting if each.name != begins]
    return click(fitting[-1]) if fitting and seen.step == 1 else seen.click("Submit", "button")


@rule(r"Scroll the textarea to the (top|bottom)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    text = max(seen.all("StaticText", "textbox"), key=lambda element: len(element.name))
    way = "up" if match[1] == "top" else "down"
    scroll = Move(f"Scroll [{text.label}]; {way}", f"The {match[1]} is further {way}.")
    return scroll if seen.step < 6 else seen.click("Submit", "button")


@rule(r"Enter (\d+/\d+/\d+) as the date")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    day = datetime.datetime.strptime(match[1], "%m/%d/%Y")
    return seen.fill({"Month": f"{day:%Y-%m-%d}"})


@rule(r"Enter (\d+:\d+ [AP]M) as the time")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.fill({"Hours": f"{datetime.datetime.strptime(match[1], '%I:%M %p'):%H:%M}"})


@rule(r"^Select (-?\d+) with the spinner")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.fill({"Select a value:": match[1]})


@rule(r"Buy (\w+) stock when the price is less than \$(\d+\.\d+)")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    shown = (re.fullmatch(r"\$(\d+\.\d+)", text.name.strip()) for text in seen.all("StaticText"))
    prices = [float(price[1]) for price in shown if price]
    return seen.click("Buy", "button") if prices and prices[-1] < float(match[2]) else WAIT


@rule(r"^Order (\d+) items that are (.+)$|^Order one of each item: (.+)$")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    names = match[3].split(", ") if match[3] else []
    plus = _plus_of(seen, names, match[2] or "")
    if seen.step < (len(names) or int(match[1])):
        return click(plus[seen.step % len(plus)]) if plus else _further_down()
    return seen.click("Submit", "button") or _further_down()


def _plus_of(seen: Seen, names: Sequence[str], mark: str) -> list[Element]:
    """The plus of each item of these names, or that bears the mark."""
    found, name, marks = [], "", []
    for element in seen.page.elements:
        if element.role == "image":
            marks.append(element.name)
        elif element.name == "+":
            found += [element] if (name in names if names else mark in marks) else []
        elif element.name != "-" and element.role == "StaticText":
            name, marks = element.name, []
    return found


def _further_down() -> Move:
    return Move("Scroll [WINDOW]; down", "What I need is further down.")


@rule(r"Enter the username \"(.+)\" and the password \"(.+)\"")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.fill({"Username": match[1], "Password": match[2]}, "Login")


@rule(r"Enter \"(.+)\" into the text field")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return seen.fill({"": match[1]})


@rule(r"Focus into the textbox")
def _(seen: Seen, match: re.Match[str]) -> Move | None:
    return next(map(click, seen.all("textbox", "searchbox")), None)
