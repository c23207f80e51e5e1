"""How many pixels off a model points: numbered buttons on a blank page, or the samples of a grounding set.

    python collection/measure_pointing.py --api_base http://localhost:8000/v1 --api_model qwen3-vl-8b \\
        --action_space qwen_computer_use
    python toolkits/import_data.py --format screenspot --input_files screenspot_web.json screenspot_mobile.json \\
        --image_dir screenspot_imgs --save_json_file screenspot.json
    python collection/measure_pointing.py --api_localhost http://localhost:8080/predict \\
        --json_files screenspot.json --image_dirs screenspot_imgs --output answers.jsonl

Of a set the table says by platform, text and icon what share was hit, as ScreenSpot's papers do. A wrong scale shows at
once: errors that grow with the distance from the top left corner, named in the last line. The numbers a model says
stand in --output, one line a target.
"""

import asyncio
import contextlib
import dataclasses
import json
import random
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from collection.agent.policy import Policy
from collection.campaign.options import make_policy
from collection.config.commands import PolicyFlags
from collection.evaluation.grounding import ask_all
from collection.evaluation.pointing import Pointed, report, screenspot_table
from common.cli import run
from common.errors import UserError
from common.options.key_flags import hide_keys
from common.options.limits import above, at_least
from common.progress import Reporter
from common.shown.tables import print_table
from data.action_spaces import action_space
from data.action_spaces.space import ActionSpace
from data.actions.action import ActionError
from data.actions.point_action import ActionRecord, ClickAt
from data.conversation import StepText
from data.samples.grounding import read_grounding
from data.task import Task
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport

_BUTTONS = 12  # on the page at a time
_DRAW = """(boxes) => {
    document.body.replaceChildren(...boxes.map(([name, left, top, width, height]) => {
        const button = document.createElement("button");
        button.textContent = name;
        Object.assign(button.style, {position: "fixed", left: `${left}px`, top: `${top}px`, width: `${width}px`,
            height: `${height}px`, padding: 0});
        button.onclick = () => (elcano.hit = name);
        return button;
    }));
    elcano.hit = "";
}"""


@dataclass(frozen=True, kw_only=True)
class PointingConfig(PolicyFlags):
    """Flags of `measure_pointing.py`; those of the endpoint are the collectors'."""

    action_space: str = "qwen_computer_use"
    """How it says where: `qwen_computer_use`, `openwebrl`, `webgym` or `ui_tars` (docs/reference/action_spaces.md)."""
    num_targets: Annotated[int, at_least(1)] = 50
    """Buttons that it is asked to click, each on a page of its own."""
    window_width: Annotated[int, at_least(300)] = 1280
    """Viewport width in CSS pixels."""
    window_height: Annotated[int, at_least(300)] = 1000
    """Viewport height in CSS pixels."""
    device_scale: Annotated[float, above(0)] = 1.0
    """Pixels of the screenshot for one CSS pixel."""
    json_files: tuple[Path, ...] = ()
    """Ask the samples of these files instead, those of a grounding set as import_data.py writes them."""
    image_dirs: tuple[Path, ...] = ()
    """Folders of their images."""
    num_sessions: Annotated[int, at_least(1)] = 4
    """Samples that are asked about at the same time."""
    output: Path | None = None
    """A JSONL file of what was asked and answered."""

    def check_together(self) -> None:
        super().check_together()
        if bool(self.json_files) != bool(self.image_dirs):
            raise UserError("--json_files and --image_dirs belong together: the samples, and where their images are")


def main(config: PointingConfig) -> None:
    """Ask, then print how far off the answers are."""
    space = action_space(config.action_space)
    if space.scale is None:
        raise UserError("--action_space: one with coordinates, such as qwen_computer_use")
    found = asyncio.run(_measure(config, space))
    if config.json_files:
        print_table(screenspot_table(found))
    print(report(found, "targets" if config.json_files else "buttons"))


async def _measure(config: PointingConfig, space: ActionSpace) -> list[Pointed]:
    """All answers, in order."""
    policy = make_policy(config)
    samples = list(read_grounding(config.json_files, config.image_dirs))
    if config.json_files and not samples:
        raise UserError(f"{', '.join(map(str, config.json_files))}: no sample tells the box that is to be hit")
    say = Reporter("targets" if samples else "buttons", len(samples) or config.num_targets)
    try:
        await policy.check()
        asking = ask_all(policy, space, samples, config.num_sessions) if samples else _buttons(config, policy, space)
        return await _kept(asking, say, config.output)
    finally:
        await policy.close()


async def _kept(asking: AsyncGenerator[Pointed], say: Reporter, output: Path | None) -> list[Pointed]:
    """The answers, each written as soon as it is there."""
    found: list[Pointed] = []
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") if output else contextlib.nullcontext() as file:
        async with contextlib.aclosing(asking):
            async for one in asking:
                found.append(one)
                say(len(found))
                if file:
                    file.write(json.dumps(dataclasses.asdict(one)) + "\n")
                    file.flush()
    return found


async def _buttons(config: PointingConfig, policy: Policy, space: ActionSpace) -> AsyncGenerator[Pointed]:
    viewport = Viewport(config.window_width, config.window_height, config.device_scale)
    generator = random.Random(config.seed or 0)
    with tempfile.TemporaryDirectory() as folder:
        async with Fleet(1, headless=True, viewport=viewport) as fleet, fleet.page(0, Path(folder)) as page:
            for number in range(1, config.num_targets + 1):
                yield await _ask(page, policy, space, _layout(generator, viewport), number)


async def _ask(page: Page, policy: Policy, space: ActionSpace, boxes: list[tuple[Any, ...]], number: int) -> Pointed:
    assert space.scale is not None
    name, *box = boxes[0]
    await page.run(_DRAW, boxes)
    environment = BrowserEnvironment(page, BrowserConfig(viewport=page.viewport))
    seen = await environment.observe()
    task = Task(f"point--{number}", f"Click the button that reads {name}.", "about:blank")
    steps, screenshots = [StepText(seen.screen_text)], {1: seen.screenshot_base64}
    reply = (await policy.reply(task, task.id, steps, screenshots, None)).text
    try:
        clicks = [action for action in space.parse(reply, seen.screen).actions if isinstance(action, ClickAt)]
    except ActionError:
        clicks = []
    if not clicks:
        return Pointed(name, tuple(box), reply, None, False)
    record = ActionRecord.of(space.name, space.scale, seen.screen, clicks[0])
    await page.run("(x, y) => document.elementFromPoint(x, y).click()", clicks[0].at.x, clicks[0].at.y)
    hit = await page.run("() => elcano.hit")
    return Pointed(name, tuple(box), reply, dataclasses.asdict(record), hit == name)


def _layout(generator: random.Random, viewport: Viewport) -> list[tuple[Any, ...]]:
    """Buttons that do not overlap, in a grid of cells: (name, left, top, width, height)."""
    across, down = viewport.width // 4, viewport.height // 3
    cells = [(column * across, row * down) for column in range(4) for row in range(3)]
    names = generator.sample(range(100, 1000), _BUTTONS)
    boxes = []
    for name, (left, top) in zip(names, generator.sample(cells, _BUTTONS), strict=True):
        width, height = generator.randrange(40, across // 2, 2), generator.randrange(20, min(down // 2, 80), 2)
        boxes.append(
            (
                str(name),
                left + generator.randrange(across - width),
                top + generator.randrange(down - height),
                width,
                height,
            )
        )
    return boxes


if __name__ == "__main__":
    hide_keys()
    run(PointingConfig, main, description=__doc__)
