"""One trajectory: observe, ask the policy, act, until it answers or has no steps left."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collection.agent.documents import DocumentReader
from collection.agent.policy import Completion, Policy
from common.seeds import derive_seed
from data.action import ActionError, Answer, parse_reply
from data.conversation import StepText
from data.observation import Mode, Visibility
from data.task import Task
from data.trajectory import FINISHED, MAX_STEPS, Step, TrajectoryWriter
from environments.browser.actions import act
from environments.browser.cdp import RefusedError
from environments.browser.faults import BlockedError, BrowserError, PageError
from environments.browser.observe import Observation, observe
from environments.browser.page import Page
from environments.browser.settle import settle
from environments.browser.walls import MAX_NODES, describe_wall
from environments.webarena.final_pages import read_final_pages

OPEN_PAUSES_S = (0.5, 1.0, 2.0)
DOWNLOAD_TIMEOUT_S = 20.0
_DISK = ThreadPoolExecutor(4, thread_name_prefix="disk")  # a write waits for no judge and no browser that starts
STATE_PATH = "/_elcano/state"  # where the embedded sites tell a session's state


@dataclass(frozen=True)
class Limits:
    """How a trajectory is taken. `num_images` screenshots are sent with each step.

    `restart_url` is where `Restart` leads, empty for the task's start page; `upload_dir` holds files for file inputs.
    """

    max_iter: int
    num_images: int
    visibility: Visibility
    save_tree_nodes: bool
    mode: Mode = "tree"
    fix_box_color: bool = False
    restart_url: str = ""
    upload_dir: Path | None = None
    documents: DocumentReader = field(default_factory=DocumentReader)


async def run_episode(
    page: Page, policy: Policy, task: Task, writer: TrajectoryWriter, limits: Limits, seed: int | None
) -> None:
    """Fill and finish the trajectory folder of `writer`. Each step's seed is derived from `seed`.

    Raises:
        BrowserError, PageError, PolicyError: not the agent's fault; the folder is not finished.
        BlockedError: the website turned the agent away; the folder is not finished.
    """
    clock = Clock()
    await _open(page, task.web)
    clock.lap("open_s")
    steps: list[StepText] = []
    screenshots: dict[int, str] = {}
    feedback, notes, answer = "", "", None
    for number in range(1, limits.max_iter + 1):
        seen = await _observe(page, task, limits, is_first=number == 1)
        seen = await _add_documents(page, task, limits, seen)
        clock.lap("observe_s")
        screenshots[number] = seen.screenshot_base64
        screenshots.pop(number - limits.num_images, None)
        asked = StepText(seen.tree, feedback, notes=notes)
        step_seed = None if seed is None else derive_seed(seed, number)
        completion = await _ask(policy, task, writer, [*steps, asked], screenshots, seen, limits, step_seed)
        clock.lap("policy_s")
        steps.append(StepText(seen.tree, feedback, completion.text, notes))
        try:
            action = parse_reply(completion.text).action
            feedback = ""
            notes = await act(page, action, seen, limits.restart_url or task.web, limits.upload_dir)
        except ActionError as error:
            feedback, notes, action = str(error), error.reason, None
        clock.lap("act_s")
        await _on_disk(writer.add_step, _step(number, seen, asked, completion, clock.take()), seen.tree)
        if isinstance(action, Answer):
            answer = action.content
            break
    eval_types = (task.eval or {}).get("eval_types", [])
    if "site_state" in eval_types:
        await _on_disk(writer.write_final_state, await _final_state(page, task))
    if "program_html" in eval_types:
        await _on_disk(writer.write_final_pages, await read_final_pages(page, task))
    await _on_disk(writer.finish, MAX_STEPS if answer is None else FINISHED, answer)


class Clock:
    """Seconds by name since the last lap, for a step's `timings_s`."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Name the time since the last lap."""
        now = time.monotonic()
        self._laps[name], self._last = round(now - self._last, 4), now

    def take(self) -> dict[str, float]:
        """The laps so far; begins anew."""
        laps, self._laps = self._laps, {}
        return laps


async def _open(page: Page, url: str) -> None:
    """The task's start page, tried again where it could not be loaded."""
    for pause_s in (*OPEN_PAUSES_S, None):
        try:
            await page.goto(url)
            await settle(page)
            return
        except PageError:
            if pause_s is None:
                raise
            await asyncio.sleep(pause_s)


async def _observe(page: Page, task: Task, limits: Limits, is_first: bool) -> Observation:
    """The page as it is; what keeps the agent from the task's own site may pass, and is tried again before it counts.

    Raises:
        PageError: the site cannot be reached any more, or answers its start page with a server error.
        BlockedError: it turns the agent away.
    """
    for pause_s in (*OPEN_PAUSES_S, None):
        seen = await _observe_once(page, limits)
        wall = await _wall(page, limits, seen)
        is_broken = seen.url.startswith("chrome-error:")
        is_refused = is_first and page.status >= 500
        if not (wall or is_broken or is_refused):
            return seen
        address = await page.address() if is_broken else seen.url
        if not is_first and urlsplit(address).hostname != urlsplit(task.web).hostname:
            return seen  # another site: the agent may go back
        if pause_s is None:
            if wall:
                raise BlockedError(f"{address}: {wall}")
            raise PageError(f"{address}: " + ("could not be loaded any more" if is_broken else f"HTTP {page.status}"))
        await asyncio.sleep(pause_s)
        await page.send("Page.reload")
        await settle(page)
    raise AssertionError("unreachable")


async def _wall(page: Page, limits: Limits, seen: Observation) -> str:
    """What turns the agent away, or ""."""
    text = seen.tree
    if limits.mode == "marks" and len(seen.nodes) <= MAX_NODES:  # their list does not hold the plain text
        with contextlib.suppress(RefusedError):
            text = await page.run("() => `RootWebArea '${document.title}' ${document.body?.textContent ?? ''}`")
    return describe_wall(page.status, text, len(seen.nodes))


async def _add_documents(page: Page, task: Task, limits: Limits, seen: Observation) -> Observation:
    """The observation, and below it what downloaded PDFs say."""
    files = await page.downloads.finish(DOWNLOAD_TIMEOUT_S)
    text = await limits.documents.read(files, task.ques) if files else ""
    return dataclasses.replace(seen, tree=f"{seen.tree}\n\n{text}") if text else seen


async def _observe_once(page: Page, limits: Limits) -> Observation:
    if page.activity.navigating:  # a document asked for after the page had come to rest
        await settle(page)
    for is_last in (False, True):
        try:
            return await observe(page, limits.visibility, limits.mode, limits.fix_box_color)
        except RefusedError as error:  # the document was being replaced; ask once more when it is there
            if is_last:
                raise BrowserError(f"the page cannot be observed: {error}") from None
        except BrowserError:  # while the next document is on its way a page may stay silent
            if is_last or not page.activity.navigating:
                raise
        await settle(page)
    raise AssertionError("unreachable")


async def _ask(
    policy: Policy,
    task: Task,
    writer: TrajectoryWriter,
    steps: list[StepText],
    screenshots: dict[int, str],
    seen: Observation,
    limits: Limits,
    seed: int | None,
) -> Completion:
    """The policy's reply; the observation is written to disk while it thinks."""
    number = len(steps)
    nodes = {str(label): node for label, node in seen.nodes.items()} if limits.save_tree_nodes else None
    reply = policy.reply(task, writer.folder.name, steps, screenshots, seed)
    written = _on_disk(writer.write_observation, number, seen.tree, nodes, seen.screenshot_png)
    completion, _ = await asyncio.gather(reply, written)
    return completion


async def _on_disk(write: Callable[..., None], *arguments: Any) -> None:
    """Write in a thread: a slow disk holds up this session alone."""
    await asyncio.get_running_loop().run_in_executor(_DISK, write, *arguments)


def _step(number: int, seen: Observation, asked: StepText, completion: Completion, timings_s: dict[str, float]) -> Step:
    return Step(
        number=number,
        url=seen.url,
        reply=completion.text,
        feedback=asked.feedback,
        notes=asked.notes,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        weights_version=completion.weights_version,
        token_ids=completion.token_ids,
        logprobs=completion.logprobs,
        timings_s=timings_s,
    )


async def _final_state(page: Page, task: Task) -> Any:
    """The embedded site's state of this session, fetched with its cookies."""
    start = urlsplit(task.web)
    return await page.fetch_json(f"{start.scheme}://{start.netloc}{STATE_PATH}")
