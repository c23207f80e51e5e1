"""Applications as BrowserGym's tasks: its browser, its observations and actions, our servers and ground truth.

    import environments.browsergym_adapter              registers browsergym/elcano.<app>.<template>
    env = gymnasium.make("browsergym/elcano.trac.close-ticket")
    observation, info = env.reset(seed=7)               the task's number, see environments.apps.make_tasks

Needs browsergym-core, and a Chromium that its Playwright can start. An episode ends as the agent sends a message or
reports that the task is infeasible.
"""

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from browsergym.core.registration import register_task
from browsergym.core.task import AbstractBrowserTask

from common.background import run_in_background
from environments.apps.application import app_names, make_app
from environments.apps.server import Server
from environments.apps.templates import NOT_POSSIBLE, State, make_task
from environments.browser.scripts import script
from environments.ground_truth import find_fault


class AppTask(AbstractBrowserTask):
    """One task, with a server of its own."""

    def __init__(self, seed: int | None, app: str, template: str):
        super().__init__(0 if seed is None else seed)
        self._app = make_app(app)
        self._app.check_installed()
        self.task = make_task(self._app, template, seed or 0, State(self._app.seed_records))
        self._folder = tempfile.TemporaryDirectory(prefix="elcano-apps-", ignore_cleanup_errors=True)
        self._server = Server(self._app, Path(self._folder.name) / app)

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        """Start the server, log in, and open the start page."""
        run_in_background(self._server.start(host=self._app.host))
        logins, url = self._app.module("start").COOKIES, self._server.address
        page.context.add_cookies([{"name": name, "value": value, "url": url} for name, value in logins.items()])
        page.context.add_init_script(f"({script('clock.js')})({round(self._server.ahead_s * 1000)})")
        page.goto(url)
        return self.task.ques, {"task": self.task.id}

    def validate(self, page: Any, chat_messages: list[Any]) -> tuple[float, bool, str, dict[str, Any]]:
        """1 or 0 once the agent has said something, by what it said and what the server holds."""
        last = chat_messages[-1]
        if last["role"] not in ("assistant", "infeasible"):
            return 0.0, False, "", {}
        answer = NOT_POSSIBLE if last["role"] == "infeasible" else last["message"]
        is_inside = urlsplit(page.url).hostname == self._app.host
        place = self._app.module("check").place(page.url) if is_inside else ""
        fault = find_fault(self.task, answer, {"place": place, **self._server.changes()})
        return float(not fault), True, "", {"answer": answer, "fault": fault}

    def teardown(self) -> None:
        """End the server."""
        self._server.stop()
        self._folder.cleanup()


for _app in app_names():
    for _template in make_app(_app).module("tasks").TEMPLATES:
        register_task(f"elcano.{_app}.{_template}", AppTask, {"app": _app, "template": _template})
