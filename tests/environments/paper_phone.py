"""The phone's pages without a browser: its links, forms, switches and chips over HTTP, and a tree of what they hold.

It has no screen, so nothing lies outside of it. Chromium's phone: tests/environments/touch/test_touch_live.py.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from fastapi.testclient import TestClient

from data.actions.action import Click, Restart, Scroll
from data.actions.point_action import AnyAction, Press, Write
from environments.touch.address import HOST, start_path
from environments.touch.app import create_app

_VOID = {"input", "meta", "link"}


@dataclass(eq=False)
class Node:
    tag: str
    attributes: dict
    parent: "Node | None" = None
    text: str = ""
    form: "Node | None" = None
    inside: list["Node"] = field(default_factory=list)

    @property
    def role(self) -> str:
        plain = {
            "a": "link",
            "button": "button",
            "input": "textbox",
            "p": "StaticText",
            "h1": "heading",
            "h2": "heading",
        }
        return self.attributes.get("role") or plain.get(self.tag, "")

    @property
    def name(self) -> str:
        return self.attributes.get("aria-label") or self.text.strip()

    def all(self) -> list["Node"]:
        return [found for one in self.inside for found in (one, *one.all())]


class Page(HTMLParser):
    def __init__(self, html: str):
        super().__init__()
        self.root = self._at = Node("root", {})
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = {key: "" if value is None else value for key, value in attrs}
        form = self._at if self._at.tag == "form" else self._at.form
        node = Node(tag, attributes, self._at, form=form)
        self._at.inside.append(node)
        if tag not in _VOID:
            self._at = node

    def handle_endtag(self, tag):
        self._at = self._at.parent or self.root

    def handle_data(self, data):
        self._at.text += data


class PaperPhone:
    """Shows the newest page; `tree` numbers what can be read or tapped."""

    def __init__(self, client: TestClient, seed: int):
        self._client, self._history, self._shown = client, [], []
        self._focus: Node | None = None
        self._open(f"http://{HOST}{start_path(seed)}")

    @classmethod
    def client(cls) -> TestClient:
        return TestClient(create_app(80), base_url=f"http://{HOST}")

    def state(self) -> dict:
        return self._client.get(f"http://{HOST}/_elcano/state").json()

    @property
    def tree(self) -> str:
        title = next(node.text for node in self._page.root.all() if node.tag == "title")
        lines, self._shown = [f"[1] RootWebArea {title!r}"], [None, None]
        for node in self._page.root.all():
            if not node.role or not node.name or node.attributes.get("type") == "hidden":
                continue
            state = "".join(
                f" {key}: {node.attributes[found]}"
                for key, found in (("checked", "aria-checked"),)
                if found in node.attributes
            )
            state += f" selected: {node.attributes['aria-selected'] == 'true'}" if node.role == "tab" else ""
            lines.append(
                f"\t[{len(self._shown)}] {node.role} {node.name!r}{state}{' focused: True' * (node is self._focus)}"
            )
            self._shown.append(node)
            if node.tag == "input" and node.attributes.get("value"):
                lines.append(f"\t\t[{len(self._shown)}] StaticText {node.attributes['value']!r}")
                self._shown.append(node)
        return "\n".join(lines)

    def act(self, action: AnyAction) -> None:
        match action:
            case Click(label):
                self._tap(self._shown[label])
            case Write(content, None, False, False):
                assert self._focus is not None, "nothing has the cursor"
                self._focus.attributes["value"] = self._focus.attributes.get("value", "") + content
            case Press(("Enter",)):
                assert self._focus is not None
                self._submit(self._focus.form)
            case Restart():
                self._open(f"http://{HOST}/")
            case _:
                assert isinstance(action, Scroll), action
                raise AssertionError("all of a page is shown: there is nothing further down")

    def _tap(self, node: Node) -> None:
        attributes, siblings = node.attributes, node.parent.inside
        self._focus = node if node.tag == "input" else None
        if node.tag == "a":
            self._open(attributes["href"])
        elif "data-post" in attributes:
            attributes["aria-checked"] = "false" if attributes["aria-checked"] == "true" else "true"
            self._client.post(attributes["data-post"], data={"on": attributes["aria-checked"]})
        elif "data-value" in attributes:
            for other in siblings:
                other.attributes["aria-checked"] = str(other is node).lower()
            siblings[-1].attributes["value"] = attributes["data-value"]
        elif "data-source" in attributes:
            for other in siblings:
                other.attributes["aria-selected"] = str(other is node).lower()
            address = f"{self._history[-1].rpartition('.localhost')[0]}.localhost{attributes['data-source']}"
            self._page.root.inside += Page(self._client.get(address).text).root.inside
        elif attributes.get("class") == "clear":
            self._focus = siblings[siblings.index(node) - 1]
            self._focus.attributes["value"] = ""
        elif node.tag == "button":
            self._submit(node.form)

    def _submit(self, form: Node) -> None:
        inputs = [node for node in form.all() if node.tag == "input"]
        fields = {node.attributes["name"]: node.attributes.get("value", "") for node in inputs}
        assert all(fields.values()), f"a field is empty: {fields}"
        if form.attributes.get("method") != "post":
            self._open(f"{form.attributes['action']}", fields)
            return
        answer = self._client.post(form.attributes["action"], data=fields)
        self._history.pop()
        self._open(self._history.pop() if form.attributes["data-then"] == "back" else str(answer.url))

    def _open(self, address: str, fields: dict | None = None) -> None:
        answer = self._client.get(address, params=fields)
        assert answer.status_code == 200, (address, answer.status_code)
        self._history.append(str(answer.url))
        self._page, self._focus = Page(answer.text), None
