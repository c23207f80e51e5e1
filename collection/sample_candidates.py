"""Draw candidate actions: what else the policy might have done at each step of a data set, for Digi-Q's best of N.

    python collection/sample_candidates.py --dataset_path runs/1/shards --output runs/1/candidates.parquet \\
        --api_localhost http://localhost:8080/predict --num_candidates 16 --temperature 1.2

The server is asked with each training sample's own conversation. One row a sample:

    id, digest             the sample's, and of what it says
    candidates             replies, no two of the same action, none of the action that was taken
    candidate_token_ids    their tokens as they were drawn

A reply that the parser of `--action_space` does not take is drawn again, twice at most, so that a step has at most
N - 1 of them. Where it takes no reply at all nothing is written: the policy speaks another action space.
What is drawn depends on the seed, the sample and the weights alone: a command that was killed goes on where it stopped,
and leaves the same file. `toolkits/convert_to_tar_data.py --candidates` makes samples of them.
"""

import asyncio
import base64
import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow

from collection.agent.policy import Completion, PolicyError, Sampling
from collection.agent.predict_policy import PredictPolicy
from collection.config.commands import CandidatesConfig
from common.cli import run
from common.errors import UserError
from common.files import file_digest, parse_json
from common.options.flags import narrowed
from common.progress import Reporter
from common.seeds import derive_seed
from common.spool import Spool
from data.action_spaces import NUMBERS, action_space
from data.action_spaces.space import ActionSpace
from data.actions.action import ActionError
from data.actions.point_action import AnyAction
from data.actions.screen import Screen
from data.images import opened
from data.shards.columns import check_record, digest_of, is_written, write_columns
from data.shards.shard import Sample, read_manifest, read_shard

MAX_ATTEMPTS = 3
"""At a reply that the parser takes (Digi-Q, get_more_actions_batched.py)."""
_ROLES = {"human": "user", "gpt": "assistant"}
_SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("digest", pyarrow.string()),
        ("candidates", pyarrow.list_(pyarrow.string())),
        ("candidate_token_ids", pyarrow.list_(pyarrow.list_(pyarrow.int32()))),
    ]
)


def main(config: CandidatesConfig) -> None:
    """Draw, then say how many."""
    if not config.api_localhost:
        raise UserError("--api_localhost is missing: the /predict address of a server that holds the policy")
    asyncio.run(draw_all(config))


async def draw_all(config: CandidatesConfig) -> None:
    """Write the file, unless it is there."""
    manifest = read_manifest(config.dataset_path)
    policy = PredictPolicy(config.api_localhost, narrowed(Sampling, config))
    await policy.check()
    version = await policy.weights_version()
    record = {
        "samples": file_digest(config.dataset_path / "manifest.json"),
        "policy": version,
        "num_candidates": config.num_candidates,
        "sampling": config.asked(config.seed),
        **({} if config.action_space == NUMBERS else {"action_space": config.action_space}),
    }
    if is_written(config.output, record):
        return
    drawn = config.output.with_name(f".{config.output.name}.drawn")
    if begun := _begun(drawn):
        check_record(drawn, begun, record)
    spool = Spool(drawn, record, lambda _: None)
    steps, order = _steps(config, manifest), []
    report = Reporter("steps", manifest["num_samples"], before=len(spool.entries))

    async def work() -> None:
        for sample in steps:  # each of which one worker gets
            order.append(sample.id)
            if sample.id not in spool.entries:
                spool.add(sample.id, None, await draw(policy, sample, config, version), [])
                report(len(spool.entries))

    await asyncio.gather(*(work() for _ in range(config.num_sessions)))
    await policy.close()
    rows = [{"id": key, **spool.entries[key]} for key in order]
    num_drawn, num_unread = (config.num_candidates - 1) * len(rows), sum(row.get("num_unread", 0) for row in rows)
    if rows and num_unread == num_drawn:
        spool.remove()
        raise UserError(
            f"{config.dataset_path}: none of {num_drawn} replies is an action of --action_space {config.action_space}; "
            "give the one that the policy speaks"
        )
    write_columns(config.output, [rows], _SCHEMA, record)
    spool.remove()
    count = sum(len(row["candidates"]) for row in rows)
    print(f"{config.output}: {count} candidates beside the actions of {len(rows)} steps, drawn by {version or 'it'}")
    if num_unread:
        print(f"{num_unread} of {num_drawn} were no action of {config.action_space} in {MAX_ATTEMPTS} attempts")


async def draw(policy: PredictPolicy, sample: Sample, config: CandidatesConfig, version: str) -> dict[str, Any]:
    """A sample's row, without its id, and how many replies were no action."""
    *asked, taken = sample.conversations
    space = action_space(config.action_space)
    screen = screen_of(sample, space)
    request = {
        "conversations": [{"role": _ROLES[turn["from"]], "content": turn["value"]} for turn in asked],
        "images": [base64.b64encode(image).decode() for image in sample.read_images()],
    }
    known, found, num_unread = [actions_of(taken["value"], space, screen)], [], 0
    for number in range(1, config.num_candidates):
        completion, actions = None, None
        for attempt in range(MAX_ATTEMPTS):
            seed = derive_seed(config.seed or 0, sample.id, number, attempt)
            completion = await _answer(policy, sample, request, seed, version)
            if (actions := actions_of(completion.text, space, screen)) is not None:
                break
        num_unread += actions is None
        if completion is not None and actions is not None and actions not in known:
            known.append(actions)
            found.append(completion)
    return {
        "digest": digest_of(sample.conversations),
        "candidates": [completion.text for completion in found],
        "candidate_token_ids": [completion.token_ids for completion in found],
        "num_unread": num_unread,
    }


async def _answer(
    policy: PredictPolicy, sample: Sample, request: dict[str, Any], seed: int, version: str
) -> Completion:
    """One reply; `UserError` where there is none, or it is of other weights than `version`."""
    try:
        completion = await policy.answer(sample.id, request, seed)
    except PolicyError as error:
        raise UserError(f"sample {sample.id}: {error}") from None
    if completion.weights_version != version:
        changed = f"changed from {version} to {completion.weights_version}"
        raise UserError(f"the server's weights {changed}; give it the first again and this command")
    return completion


def _begun(drawn: Path) -> dict[str, Any]:
    """What a command that was killed made its rows of."""
    with contextlib.suppress(OSError, ValueError), open(drawn, "rb") as file:  # none, or killed while it began
        return parse_json(file.readline())
    return {}


def actions_of(reply: str, space: ActionSpace, screen: Screen | None) -> tuple[AnyAction, ...] | None:
    """What a reply does; None when the parser does not take it."""
    try:
        return space.parse(reply, screen).actions
    except ActionError:
        return None


def screen_of(sample: Sample, space: ActionSpace) -> Screen | None:
    """What a space with coordinates points on: the sample's newest screenshot, as if it were the viewport, whose size
    samples do not tell; points are only compared here."""
    if space.scale is None:
        return None
    if not sample.images:
        raise UserError(f"sample {sample.id}: shows no screenshot, on which --action_space {space.name} points")
    with opened(io.BytesIO(sample.read_images()[-1])) as image:
        return Screen(image.size, image.size)


def _steps(config: CandidatesConfig, manifest: dict[str, Any]) -> Iterator[Sample]:
    """The training samples of what was done, in the order of the shards."""
    for shard in manifest["shards"]:
        if shard.get("split") != "val":
            for sample in read_shard(config.dataset_path / shard["url"]):
                if not sample.extra.get("candidate"):
                    yield sample


if __name__ == "__main__":
    run(CandidatesConfig, main, description=__doc__)
