"""A trajectory's training samples, one a step, as OpenWebVoyager's training JSON has them.

    {"id", "images": [file names], "conversations": [{"from": "human" | "gpt", "value"}]}

Where the server gave them also the reply's `token_ids`, `logprobs` (of the sample's own prompt only) and
`weights_version`; of a judged trajectory its reward (`data/samples/rewarded_step.py`); of an imported one the `site`
where its task begins.

Names: `task<head>--<n>` gives `<head>--<n as 5 digits>--r<round>--step<step>`, as in the released data; an
exploration's `task<head>--<n>--run<k>` gives `<head>--<n as 5 digits>--run<k>--r<round>--step<step>`.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.action_spaces import known_space
from data.samples.rewarded_step import reward_fields
from data.sampling import drawn_otherwise
from data.task import site_name
from data.trajectory import Trajectory

_SENDERS = {"user": "human", "assistant": "gpt"}


def samples_of(
    trajectory: Trajectory, round_id: int, last_n: int, cut: Callable[[str], str] | None = None
) -> list[tuple[dict[str, Any], Path]]:
    """One (sample, its newest screenshot) per step, oldest first; `cut` shortens each accessibility tree."""
    whole, space = trajectory.texts(), known_space(trajectory.provenance)
    steps = [dataclasses.replace(step, tree=cut(step.tree)) for step in whole] if cut else whole
    ids = [sample_id(trajectory, round_id, step.number) for step in trajectory.steps]
    is_own_prompt = read_the_prompt_of_samples(trajectory, last_n)
    solved = trajectory.outcome.verdict.solved if trajectory.outcome else None
    rewards = [{}] * len(ids) if solved is None else reward_fields(ids, solved)
    site = {"site": site_name(trajectory.web)} if trajectory.provenance.get("source") and trajectory.web else {}
    pairs = []
    for count, step in enumerate(trajectory.steps, start=1):
        conversation = space.conversation(trajectory.ques, steps[:count], last_n)
        sample = {
            "id": ids[count - 1],
            "images": [image_name(ids[number - 1]) for number in conversation.image_steps],
            "conversations": [{"from": _SENDERS[turn.role], "value": turn.text} for turn in conversation.turns],
            **site,
            **rewards[count - 1],
        }
        if step.token_ids:
            sample |= {"token_ids": step.token_ids, "weights_version": step.weights_version}
            if step.logprobs and is_own_prompt and steps[count - 1] == whole[count - 1]:
                sample |= {"logprobs": step.logprobs, "prompt_tokens": step.prompt_tokens}
                sample |= {"sampling": sampling} if (sampling := drawn_otherwise(step.sampling)) else {}
        pairs.append((sample, trajectory.screenshot(step.number)))
    return pairs


def read_the_prompt_of_samples(trajectory: Trajectory, last_n: int) -> bool:
    """Whether the policy was asked with what a sample shows; only then are its log-probabilities the sample's."""
    asked = trajectory.provenance
    shown = 0 if asked.get("text_only") else asked.get("max_attached_imgs")
    return asked.get("prompt") == "trained" and shown == last_n


def sample_id(trajectory: Trajectory, round_id: int, step: int) -> str:
    """The id of one step's sample; see the naming rule above."""
    return f"{sample_head(trajectory.task_id, trajectory.run)}--r{round_id:02d}--step{step:02d}"


def sample_head(task_id: str, run: int | None) -> str:
    """How the ids of a trajectory's samples begin, whatever their round."""
    separator = "--" if "--" in task_id else "_"
    head, found, number = task_id.rpartition(separator)
    return (f"{head}{found}{number.zfill(5)}" if found else task_id) + ("" if run is None else f"--run{run}")


def image_name(identifier: str) -> str:
    """The file name of a sample's newest screenshot."""
    return f"{identifier}.png"
