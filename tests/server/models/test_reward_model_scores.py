"""The reward-model judge over the real server: P(YES) is the one that Hugging Face's model gives."""

import base64
import math
from pathlib import Path

import pytest
from PIL import Image

from collection.judges.reward_model import RewardModelJudge
from data.outcome import Verdict
from data.samples.reward_model import reward_model_turn
from data.task import Task
from data.trajectory import read_trajectory
from tests.hugging_face import Reference
from tests.server.helpers import RunningServer
from tests.toolkits.trajectories import write_trajectory


def test_the_probability_of_yes_is_that_of_hugging_face(
    server: RunningServer, tiny_policy: Path, tmp_path: Path
) -> None:
    judge, reference = RewardModelJudge(f"{server.url}/score"), Reference(tiny_policy)
    for number in range(3):
        folder = write_trajectory(tmp_path, f"Shop--{number}", num_steps=number + 1, verdict=None)
        trajectory = read_trajectory(folder)
        outcome = judge(Task(trajectory.task_id, trajectory.ques, trajectory.web), folder)
        text = reward_model_turn(trajectory.ques, trajectory).text
        images = [Image.open(trajectory.screenshot(len(trajectory.steps))).convert("RGB")]
        yes, no = (math.exp(sum(reference.logprobs([text], images, answer))) for answer in ("YES", "NO"))
        shown = [base64.b64encode(trajectory.screenshot(len(trajectory.steps)).read_bytes()).decode()]
        assert judge.probability("x", text, shown)[0] == pytest.approx(yes / (yes + no), abs=1e-5)
        said = outcome.raw.removeprefix("P(YES) = ").partition(",")[0]
        assert float(said) == pytest.approx(yes / (yes + no), abs=1e-4)
        assert outcome.verdict is (Verdict.SUCCESS if yes >= no else Verdict.FAILURE)
