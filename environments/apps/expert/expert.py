"""The expert: messages in, Thought and Action out. It knows wordings and how an application is used, but no truth."""

from collections.abc import Sequence
from typing import Any

from common.network.stand_in import text_of
from environments.apps.application import app_names, make_app
from environments.apps.expert.rules import Situation
from environments.apps.templates import parse
from environments.sites.expert.reading import NotUnderstoodError, read_page, read_task


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The next `Thought: ... Action: ...`.

    Raises:
        NotUnderstoodError: the messages hold no task of an application, or no page, or a page that leads nowhere.
    """
    ques = read_task(messages)
    for app in map(make_app, app_names()):
        if found := parse(app.module("tasks").TEMPLATES, ques):
            name, slots = found
            break
    else:
        raise NotUnderstoodError(f"the expert knows only the applications' tasks, not {ques!r}")
    past = tuple(str(message["content"]) for message in messages if message["role"] == "assistant")
    now = Situation(read_page(messages), past, text_of(messages[-1]).partition("RootWebArea")[0])
    move = app.module("solvers").SOLVERS[name](**slots)(now)
    if move is None:
        raise NotUnderstoodError(f"nothing on the page {now.title!r} leads on towards: {ques}")
    return f"Thought: I am on '{now.title}'. {move.reason}\n\nAction: {move.action}"
