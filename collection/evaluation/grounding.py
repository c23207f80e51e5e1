"""Ask a policy where the targets of grounding samples are, each on its screenshot alone."""

import asyncio
import base64
import dataclasses
import io
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from collection.agent.policy import Policy, PolicyError, ServerDeadError
from collection.evaluation.pointing import NO_REPLY, Pointed
from common.errors import UserError
from data.action_spaces.space import ActionSpace
from data.actions.action import ActionError
from data.actions.point_action import ActionRecord, AnyAction
from data.actions.screen import Point, Screen, screen_text
from data.conversation import StepText
from data.images import PNG, opened, size_of, to_rgb
from data.samples.grounding import GroundingSample
from data.task import Task


async def ask_all(
    policy: Policy, space: ActionSpace, samples: Iterable[GroundingSample], num_sessions: int
) -> AsyncGenerator[Pointed]:
    """The answers, in order, `num_sessions` requests at a time; the screenshots of so many are in memory.

    Raises:
        UserError: naming the screenshot that is none.
        ServerDeadError: the server answers nobody.
    """
    waiting: list[asyncio.Task[Pointed]] = []
    try:
        for sample in samples:
            waiting.append(asyncio.create_task(_ask(policy, space, sample)))
            if len(waiting) == num_sessions:
                yield await waiting.pop(0)
        while waiting:
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _ask(policy: Policy, space: ActionSpace, sample: GroundingSample) -> Pointed:
    assert space.scale is not None
    target = sample.target
    left, top, right, bottom = target.box
    png, screen = _shown(sample.image)
    asked = Task("grounding", target.ques, "about:blank")
    answer = Pointed(
        *(sample.id, (left, top, right - left, bottom - top), "", None, False),
        *(target.ques, target.platform, target.kind),
    )
    steps = [StepText(screen_text(()))]  # as the training sample has it
    try:
        reply = (await policy.reply(asked, sample.id, steps, {1: base64.b64encode(png).decode()}, None)).text
    except ServerDeadError:
        raise
    except PolicyError as error:  # a screenshot that is too large for the model is one that it does not know
        return dataclasses.replace(answer, reply=f"{NO_REPLY}{error}")
    action, at = _first_point(space, reply, screen)
    if action is None or at is None:
        return dataclasses.replace(answer, reply=reply)
    record = dataclasses.asdict(ActionRecord.of(space.name, space.scale, screen, action))
    return dataclasses.replace(answer, reply=reply, action=record, hit=target.holds(at.x, at.y))


def _first_point(space: ActionSpace, reply: str, screen: Screen) -> tuple[AnyAction | None, Point | None]:
    """Of what the reply does: to click, hover or type somewhere names the place alike."""
    try:
        actions = space.parse(reply, screen).actions
    except ActionError:
        return None, None
    return next(((one, at) for one in actions if isinstance(at := getattr(one, "at", None), Point)), (None, None))


def _shown(path: Path) -> tuple[bytes, Screen]:
    """As PNG, whose pixels are those that training decodes; a screenshot's pixels count as the page's."""
    content = path.read_bytes()
    try:
        with opened(io.BytesIO(content)) as picture:
            height, width = size_of(picture)
            if not content.startswith(PNG):
                buffer = io.BytesIO()
                to_rgb(picture).save(buffer, "PNG")
                content = buffer.getvalue()
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return content, Screen((width, height), (width, height))
