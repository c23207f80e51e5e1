"""The expert: messages in, Thought and Action out. It knows wordings and how an application is used, but no truth."""

from collections.abc import Sequence
from typing import Any

from common.network.stand_in import text_of
from environments.apps.application import Application, app_names, make_app
from environments.apps.expert.rules import Situation
from environments.apps.templates import parse
from environments.sites.expert.reading import NotUnderstoodError, read_page, read_task


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The next `Thought: ... Action: ...`.

    Raises:
        NotUnderstoodError: the messages hold no task of an application, or no page, or a page that leads nowhere.
    """
    ques = read_task(messages)
    app = _application(messages)
    asked = app and parse(app.module("tasks").TEMPLATES, ques)
    if not app or not asked:
        raise NotUnderstoodError(f"the expert knows only the applications' tasks, not {ques!r}")
    needs = ", ".join(f'"{need}"' for need in (*asked.slots.values(), asked.marked) if need)
    needed = f" I need {needs}." if needs else ""  # in every reply, so rules that look back do not see it
    past = (str(message["content"]) for message in messages if message["role"] == "assistant")
    told = text_of(messages[-1]).partition("RootWebArea")[0]
    now = Situation(read_page(messages), tuple(reply.replace(needed, "") for reply in past), told)
    move = app.module("solvers").SOLVERS[asked.template](**asked.slots)(now)
    if move is None:
        raise NotUnderstoodError(f"nothing on the page {now.title!r} leads on towards: {ques}")
    page = now.title.partition(" – ")[0]  # what follows is the application's name, on every page
    return f"Thought: I am on '{page}'.{needed} {move.reason}\n\nAction: {move.action}"


def _application(messages: Sequence[dict[str, Any]]) -> Application | None:
    """Whose address is in the messages; two may be asked for the same in the same words."""
    said = " ".join(text_of(message) for message in messages if message["role"] == "user")
    return next((app for app in map(make_app, app_names()) if f"Please interact with http://{app.host}:" in said), None)
