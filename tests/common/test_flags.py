"""Options as the words that give them: every field of every command that a run starts comes back as it was."""

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest

from collection.config.commands import CandidatesConfig, ExplorationConfig, RunConfig
from collection.config.judging import JudgeFlags
from common.cli import parse
from common.options.fields import kinds_of
from common.options.flags import flags, narrowed, variables
from server.config import ServerConfig
from training.config import parse as parse_training
from training.options import TrainingOptions

KINDS = [RunConfig, ExplorationConfig, CandidatesConfig, JudgeFlags, ServerConfig, TrainingOptions]
NUMBERS = (0.25, 0.5, 1, 3, 7, 1e-7)


def others(kind: Any, default: Any) -> list[Any]:
    """Values of an annotation that are not `default`; some may be refused."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found = others(arguments[0], default)
    elif origin in (types.UnionType, Union):
        found = [value for one in arguments for value in others(one, default)]
    elif origin is Literal:
        found = list(arguments)
    elif origin is tuple:
        found = [(), tuple(others(arguments[0], None)[:2])]
    else:
        found = {
            bool: [True, False],
            int: [number for number in NUMBERS if isinstance(number, int)],
            float: list(map(float, NUMBERS)),
            str: ["word", "two words", "-dashed", "", "webrl", "ui_tars", "mine.judge"],
            Path: [Path("some/where")],
            types.NoneType: [None],
        }[kind]
    return [value for value in found if value != default]


BESIDE = {"shared_output_dir": {"ray_address": "local"}}
"""What a flag may not be given without."""


def made(kind: type, said: dict[str, Any]) -> Any | None:
    """None where a field does not allow its value, or not beside the others."""
    try:
        return kind(**said)
    except ValueError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_every_flag_of_a_command_can_be_said(kind: type) -> None:
    """Each with all values that its field allows, at least one of them; as many as go together in one command line."""
    left: list[dict[str, Any]] = []
    for name, annotation in kinds_of(kind).items():
        values = others(annotation, getattr(kind(), name))
        alone = [said for value in values if made(kind, said := {name: value, **BESIDE.get(name, {})})]
        assert alone, name
        left += alone
    while left:
        together: dict[str, Any] = {}
        for said in list(left):
            if not together.keys() & said.keys() and made(kind, together | said):
                together |= said
                left.remove(said)
        config = kind(**together)
        assert parse(kind, flags(config)) == config, flags(config)


def test_training_reads_its_variables_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    options = TrainingOptions(tp=2, sp=True, lr=7e-4, freeze_vision=False, te=None, packing=True, async_save=False)
    for every in (False, True):
        with monkeypatch.context() as patch:
            for name, value in variables(options, every).items():
                patch.setenv(name, value)
            config = parse_training(["--dataset_path", "d", "--pretrain_checkpoint_path", "p"])
        assert narrowed(TrainingOptions, config) == options
    assert variables(options)["FREEZE_VISION"] == "false" and variables(options)["PP"] == ""


def test_what_the_shell_exports_does_not_reach_options_at_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    options = TrainingOptions(lr=7e-4)
    for name, value in [("SAVE_INTERVAL", "7"), ("SP", "true"), ("LR", "1"), *variables(options).items()]:
        monkeypatch.setenv(name, value)
    config = parse_training(["--dataset_path", "d", "--pretrain_checkpoint_path", "p"])
    assert narrowed(TrainingOptions, config) == options
