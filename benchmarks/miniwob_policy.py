"""A scripted policy for MiniWoB++ behind /predict: it reads what a model reads, the task and the accessibility tree,
and replies in the ordinary action grammar. It has rules for pages that can be read as text; on others it gives up.

    python -m benchmarks.miniwob_policy 8080
"""

import ast
import datetime
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from common.processes import die_with_parent

GIVE_UP = "ANSWER; I do not know how."
_LINE = re.compile(r"^(\t*)\[(\d+)\] (\S+) ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(.*)$")


@dataclass(frozen=True)
class Node:
    """A line of the tree."""

    label: int
    role: str
    name: str
    properties: str


class Seen:
    """The newest tree, and the actions so far."""

    def __init__(self, tree: str, actions: list[str]):
        matches = (_LINE.match(line) for line in tree.splitlines())
        self.nodes = [Node(int(m[2]), m[3], ast.literal_eval(m[4]), m[5]) for m in matches if m]
        self.actions = actions

    @property
    def step(self) -> int:
        return len(self.actions)

    def all(self, *roles: str) -> list[Node]:
        """Every node of these roles."""
        return [node for node in self.nodes if node.role in roles]

    def click(self, name: str, *roles: str) -> str:
        """Click the last node of that name: the task's own words come first."""
        found = [n for n in self.nodes if _same(n.name, name) and (not roles or n.role in roles)]
        return f"Click [{found[-1].label}]" if found else GIVE_UP

    def has(self, name: str, *roles: str) -> bool:
        """Whether it is there to click."""
        return self.click(name, *roles) != GIVE_UP


Rule = Callable[[Seen, re.Match[str]], str]
RULES: list[tuple[re.Pattern[str], Rule]] = []


def rule(pattern: str) -> Callable[[Rule], Rule]:
    """Use the function for tasks that read so."""

    def add(function: Rule) -> Rule:
        RULES.append((re.compile(pattern, re.IGNORECASE), function))
        return function

    return add


def decide(ques: str, tree: str, actions: list[str]) -> str:
    """The next action."""
    seen = Seen(tree, actions)
    if any("The episode is over." in node.name for node in seen.nodes):
        return "ANSWER; done"
    for pattern, function in RULES:
        if match := pattern.search(ques):
            return function(seen, match)
    return GIVE_UP


@rule(r"^Click the button\.$")
def _(seen: Seen, match: re.Match[str]) -> str:
    return _first(f"Click [{node.label}]" for node in seen.all("button"))


@rule(r"Click button (\w+), (?:wait (\d+) seconds, )?then click button (\w+)")
def _(seen: Seen, match: re.Match[str]) -> str:
    waits = int(match[2] or 0)
    if seen.step == 0:
        return seen.click(match[1])
    return "Wait" if seen.step <= waits else seen.click(match[3])


@rule(r'Click button (\w+)|Click on the "(.+)" button|button in the dialog box labeled "(.+)"|on the link "(.+)"\.$')
def _(seen: Seen, match: re.Match[str]) -> str:
    name = next(filter(None, match.groups()))
    name = "Close" if name == "x" else name
    if seen.has(name, "button", "link", "StaticText") and _clickable(seen, name):
        return _clickable(seen, name)
    return _open_next(seen)


def _clickable(seen: Seen, name: str) -> str:
    """Click what bears that name; a link may be a text among others."""
    for role in ("button", "link", "StaticText"):
        found = [node for node in seen.all(role)[1:] if _same(node.name, name)] or (
            [node for node in seen.all(role) if _same(node.name, name)] if role != "StaticText" else []
        )
        if found:
            return f"Click [{found[-1].label}]"
    return ""


def _open_next(seen: Seen) -> str:
    """The next tab or section that was not opened yet."""
    tabs = [node for node in seen.all("tab") if node.name.strip()]
    opened = sum(action.startswith("Click") for action in seen.actions)
    return f"Click [{tabs[opened % len(tabs)].label}]" if tabs else GIVE_UP


@rule(r"Close the dialog box")
def _(seen: Seen, match: re.Match[str]) -> str:
    return seen.click("Close")


@rule(r"Click on Tab #(\d)")
def _(seen: Seen, match: re.Match[str]) -> str:
    return seen.click(f"Tab #{match[1]}", "link")


@rule(r"Expand the section below")
def _(seen: Seen, match: re.Match[str]) -> str:
    section = next(
        (n for n in seen.all("tab") if n.name.startswith("Section") and "expanded: False" in n.properties), None
    )
    return f"Click [{section.label}]" if section else seen.click("Submit", "button")


@rule(r'Click on a "(.+)" widget')
def _(seen: Seen, match: re.Match[str]) -> str:
    roles = {"textarea": "textbox", "text": "textbox"}
    role = roles.get(match[1], match[1])
    return _first(f"Click [{node.label}]" for node in seen.all(role))


@rule(r"^Select (.+) from the (?:scroll )?list and click Submit")
def _(seen: Seen, match: re.Match[str]) -> str:
    return _each(seen, match[1].split(", "), "option")


@rule(r"^Select (?!words)(?!\d)(.+) and click Submit")
def _(seen: Seen, match: re.Match[str]) -> str:
    names = [] if match[1] == "nothing" else match[1].split(", ")
    return _each(seen, names, "checkbox", "radio", "StaticText")


@rule(r"^Select (\S+>\S+)$")
def _(seen: Seen, match: re.Match[str]) -> str:
    path = match[1].split(">")
    return seen.click(path[min(seen.step, len(path) - 1)], "menuitem")


@rule(r'Click the "Menu" button, .* item labeled "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> str:
    if seen.has(match[1], "menuitem"):
        return seen.click(match[1], "menuitem")
    return _play(seen, ["Menu", "Playback", "Zoom"])


@rule(r'^Choose (.+) from the dropdown, then click the button labeled "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> str:
    return seen.click(match[1], "option") if seen.step == 0 else seen.click(match[2], "button")


@rule(r"as odd or even")
def _(seen: Seen, match: re.Match[str]) -> str:
    clicks = []
    for number, node in enumerate(seen.nodes):
        if node.role == "StaticText" and re.fullmatch(r"-?\d+", node.name):
            even = int(node.name) % 2 == 0
            clicks.append(seen.nodes[number + 1 if even else number - 1].label)
    return f"Click [{clicks[seen.step]}]" if seen.step < len(clicks) else seen.click("Submit", "button")


@rule(r"numbers in ascending order")
def _(seen: Seen, match: re.Match[str]) -> str:
    return seen.click(str(seen.step + 1), "StaticText")


@rule(r"Find (.+) in the contact book and click on their (\w+)")
def _(seen: Seen, match: re.Match[str]) -> str:
    if not seen.has(match[1], "heading"):
        return seen.click(">", "link")
    names = [node.name.strip().lower() for node in seen.nodes]
    place = names.index(f"{match[2]}:".lower())
    return f"Click [{seen.nodes[place + 1].label}]"


@rule(r"Buy the ticket with the (cheapest cost|shortest duration)")
def _(seen: Seen, match: re.Match[str]) -> str:
    offers = []
    for above, node in zip(seen.nodes, seen.nodes[1:], strict=False):
        if book := re.match(r"Book for \$(\d+)", node.name):
            hours = re.match(r"(\d+)h(?: (\d+)m)?", above.name)
            minutes = int(hours[1]) * 60 + int(hours[2] or 0) if hours else 10**6
            offers.append((int(book[1]) if "cost" in match[1] else minutes, node.label))
    return f"Click [{min(offers)[1]}]" if offers else GIVE_UP


@rule(r'folder or file named "(.+)"')
def _(seen: Seen, match: re.Match[str]) -> str:
    texts = [node for node in seen.all("StaticText")[1:] if node.name.strip()]
    if found := [node for node in texts if _same(node.name, match[1])]:
        return f"Click [{found[0].label}]"
    return f"Click [{texts[seen.step % len(texts)].label}]" if texts else GIVE_UP


@rule(r"Generate (?:an? )?(even|odd|number (less|greater) than (-?\d+))")
def _(seen: Seen, match: re.Match[str]) -> str:
    shown = next((int(n.name) for n in seen.all("StaticText") if re.fullmatch(r"-?\d+", n.name.strip())), None)
    good = shown is not None and (
        (match[1] == "even" and shown % 2 == 0)
        or (match[1] == "odd" and shown % 2 == 1)
        or (match[2] == "less" and shown < int(match[3]))
        or (match[2] == "greater" and shown > int(match[3]))
    )
    return seen.click("Submit" if good else "Generate", "button")


@rule(r'Enter an item that starts with "(.+?)"(?: and ends with "(.+)")?')
def _(seen: Seen, match: re.Match[str]) -> str:
    box = seen.all("textbox")
    if seen.step == 0:
        return f"Type [{box[-1].label}]; {match[1]}"
    offered = [n for n in seen.all("menuitem", "option", "listitem", "StaticText") if n.name.startswith(match[1])]
    fitting = [node for node in offered if node.name.endswith(match[2] or "") and node.name != match[1]]
    if fitting and seen.step == 1:
        return f"Click [{fitting[-1].label}]"
    return seen.click("Submit", "button")


@rule(r"Scroll the textarea to the (top|bottom)")
def _(seen: Seen, match: re.Match[str]) -> str:
    text = max(seen.all("StaticText", "textbox"), key=lambda node: len(node.name))
    way = "up" if match[1] == "top" else "down"
    return f"Scroll [{text.label}]; {way}" if seen.step < 6 else seen.click("Submit", "button")


@rule(r"Enter (\d+/\d+/\d+) as the date")
def _(seen: Seen, match: re.Match[str]) -> str:
    day = datetime.datetime.strptime(match[1], "%m/%d/%Y")
    return _fill(seen, {"Month": f"{day:%Y-%m-%d}"})


@rule(r"Enter (\d+:\d+ [AP]M) as the time")
def _(seen: Seen, match: re.Match[str]) -> str:
    return _fill(seen, {"Hours": f"{datetime.datetime.strptime(match[1], '%I:%M %p'):%H:%M}"})


@rule(r"^Select (-?\d+) with the spinner")
def _(seen: Seen, match: re.Match[str]) -> str:
    return _fill(seen, {"Select a value:": match[1]})


@rule(r"Buy (\w+) stock when the price is less than \$(\d+\.\d+)")
def _(seen: Seen, match: re.Match[str]) -> str:
    prices = [float(m[1]) for n in seen.all("StaticText") if (m := re.fullmatch(r"\$(\d+\.\d+)", n.name.strip()))]
    return seen.click("Buy", "button") if prices and prices[-1] < float(match[2]) else "Wait"


@rule(r"^Order (\d+) items that are (.+)$|^Order one of each item: (.+)$")
def _(seen: Seen, match: re.Match[str]) -> str:
    plus: list[int] = []
    name, marks = "", []
    for node in seen.nodes:
        if node.role == "image":
            marks.append(node.name)
        elif node.name == "+":
            wanted = name in match[3].split(", ") if match[3] else match[2] in marks
            plus += [node.label] if wanted else []
        elif node.name != "-" and node.role == "StaticText":
            name, marks = node.name, []
    count = len(match[3].split(", ")) if match[3] else int(match[1])
    if seen.step < count:
        return f"Click [{plus[seen.step % len(plus)]}]" if plus else "Scroll [WINDOW]; down"
    return seen.click("Submit", "button") if seen.has("Submit") else "Scroll [WINDOW]; down"


@rule(r"Enter the username \"(.+)\" and the password \"(.+)\"")
def _(seen: Seen, match: re.Match[str]) -> str:
    return _fill(seen, {"Username": match[1], "Password": match[2]}, "Login")


@rule(r"Set the sliders|Focus into the textbox|Enter \"(.+)\" into the text field|Enter the password")
def _(seen: Seen, match: re.Match[str]) -> str:
    boxes = seen.all("textbox", "searchbox")
    return f"Click [{boxes[0].label}]" if boxes and not match[1] else GIVE_UP


def _fill(seen: Seen, values: dict[str, str], button: str = "Submit") -> str:
    """Type each value into the control of that name, then press the button."""
    for name, value in list(values.items())[seen.step : seen.step + 1]:
        found = [node for node in seen.all("textbox", "spinbutton") if node.name == name]
        return f"Type [{found[0].label}]; {value}" if found else GIVE_UP
    return seen.click(button, "button")


def _each(seen: Seen, names: list[str], *roles: str) -> str:
    """Click one after another, then Submit."""
    return seen.click(names[seen.step], *roles) if seen.step < len(names) else seen.click("Submit", "button")


def _play(seen: Seen, names: list[str]) -> str:
    return seen.click(names[seen.step]) if seen.step < len(names) else GIVE_UP


def _first(actions: Iterator[str]) -> str:
    return next(actions, GIVE_UP)


def _same(name: str, wanted: str) -> bool:
    return name.strip().strip(".,").lower() == wanted.strip().strip(".,").lower()


async def predict(request: Request) -> JSONResponse:
    """OpenWebVoyager's protocol."""
    turns = (await request.json())["conversations"]
    ques = turns[0]["content"].split("\nOBSERVATION")[0]
    actions = [turn["content"].rpartition("Action: ")[2] for turn in turns if turn["role"] == "assistant"]
    tree = turns[-1]["content"]
    action = decide(ques, tree, actions)
    return JSONResponse({"text": f"Thought: the rule for this says so.\n\nAction: {action}"})


def main() -> None:
    """Serve on the port given."""
    die_with_parent()
    routes = [Route("/predict", predict, methods=["POST"]), Route("/predict", lambda _: PlainTextResponse("ok"))]
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
