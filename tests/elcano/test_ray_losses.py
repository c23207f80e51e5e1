"""The Ray executor's command whose node or worker dies: begun again, where fewer are left on fewer nodes."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import UserError
from elcano.executors.executor import Command, LostError
from elcano.executors.ray import Executor
from elcano.resources import Resources


@dataclasses.dataclass
class Place:
    """A node that dies after `polls` questions, or whose command ends with `code` then."""

    address: str = "10.0.0.1"
    polls: int = 1
    code: int | None = None
    ended: bool = False
    told: dict = dataclasses.field(default_factory=dict)

    def held_port(self) -> int:
        return 29500

    def begin(self, command: Command, variables: dict[str, str]) -> None:
        self.told = command.variables

    def poll(self, timeout_s: float) -> int | None:
        self.polls -= 1
        if self.polls > 0:
            return None
        if self.code is None:
            raise LostError(f"was ended with its place on {self.address}: the node is gone; the same command continues")
        return self.code

    def end(self, timeout_s: float) -> None:
        self.ended = True


def executor(turns: list[list[Place]], left: int) -> Executor:
    """One that takes the places of a turn after the other."""
    made = Executor.__new__(Executor)
    made._variables, made._node, made._services, made.asked = {}, "", [], []
    made._num_fitting = lambda resources: left

    @contextlib.contextmanager
    def placed(resources: Resources, node: str, services: list) -> Iterator[list[Place]]:
        made.asked.append(resources.num_nodes)
        yield turns.pop(0)

    made._placed_together = placed
    return made


def command(tmp_path: Path) -> Command:
    (tmp_path / "x.log").write_text("the last words\n")
    return Command(["bash", "train.sh"], tmp_path / "x.log")


def test_training_goes_on_where_nodes_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rank beside a dead node fails first; it is begun again for the dead one's sake."""
    failed, dead, alone = Place(polls=1, code=1), Place(polls=2), Place(polls=2, code=0)
    made = executor([[failed, dead], [alone]], left=1)
    made.run(command(tmp_path), Resources(num_nodes=2))
    assert made.asked == [2, 1] and failed.ended and dead.ended
    assert failed.told["HOST_NUM"] == "2" and "HOST_NUM" not in alone.told
    assert "the node is gone; the same command continues (log: " in capsys.readouterr().out


def test_it_is_no_accident_any_more_after_three(tmp_path: Path) -> None:
    made = executor([[Place()] for _ in range(4)], left=3)
    with pytest.raises(LostError, match=r"`bash train\.sh \.\.\.` was ended with its place on .*\(log: "):
        made.run(command(tmp_path))
    assert made.asked == [1, 1, 1]


def test_a_failure_is_not_tried_again(tmp_path: Path) -> None:
    made = executor([[Place(polls=1, code=1), Place(polls=9, code=0)]], left=2)
    with pytest.raises(UserError, match="ended with code 1: the last words"):
        made.run(command(tmp_path), Resources(num_nodes=2))
    assert made.asked == [2]
