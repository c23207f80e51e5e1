"""Recipe: all that defines a run, as one typed value. A recipe file is Python with `def recipe() -> Recipe`."""

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any, Literal

from common.defaults import ROOT
from common.errors import UserError
from common.files import read_json, write_json


@dataclasses.dataclass(frozen=True)
class Judging:
    """Who decides whether a trajectory succeeded; the names are those of the collectors' flags. The key of a model's
    endpoint is read from EVAL_API_KEY or OPENAI_API_KEY, never from a recipe."""

    judge: str = "oracle"
    api_eval_model: str = ""
    eval_api_base: str = ""
    eval_imgs: int = 3
    eval_trees: int = 0
    eval_votes: int = 1
    eval_budget_usd: float | None = None
    eval_score_url: str = ""
    eval_noise: float = 0.0

    def flags(self) -> dict[str, Any]:
        """The flags that differ from their defaults, and `judge`."""
        plain = Judging()
        changed = {name: value for name, value in vars(self).items() if value != getattr(plain, name)}
        return {"judge": self.judge, **changed}


@dataclasses.dataclass(frozen=True)
class Collection:
    """How trajectories are collected; the names are those of `collection/run.py`'s flags."""

    max_iter: int = 15
    """Steps an agent may take."""
    max_attached_imgs: int = 3
    """Newest screenshots (and, for chat models, trees) that the model sees."""
    num_sessions: int = 8
    """Browser contexts working at the same time."""
    max_rerun_times: int = 5
    """Tries per task in exploration; it stops at the first success."""
    explore_temperature: float = 1.2
    """Sampling temperature of exploration; tests are greedy."""
    judge: str = "oracle"
    """Who decides whether a trajectory succeeded, unless the two below say more."""
    explore_judging: Judging | None = None
    """Who judges exploration; what it calls a success is learnt."""
    test_judging: Judging | None = None
    """Who judges the test tasks."""
    teacher_judging: Judging | None = None
    """Who judges the teacher's tries; `finished` keeps whatever it answered, as published."""
    teacher_tries: int = 1
    """Tries of a teacher per task."""
    seed: int = 0
    """Seed of sampling."""


@dataclasses.dataclass(frozen=True)
class Serving:
    """How the policy is served; the names are those of `server/hf_online_server.py`'s flags."""

    device: str = "auto"
    dtype: str = "auto"
    max_batch_size: int = 8
    max_new_tokens: int = 256
    num_threads: int | None = None
    """Torch threads on CPU; None leaves it to the server."""


@dataclasses.dataclass(frozen=True)
class Training:
    """How each round trains; the names are the variables of `training/train_<model>.sh`, whatever the policy is."""

    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    """Variables such as TP, PP, LR, SEQ_LEN; what is not named keeps the script's published default."""


@dataclasses.dataclass(frozen=True)
class Round:
    """One round: explore with `agent` on `tasks`, then train on D_IL and what it brought home."""

    name: str
    tasks: Path | tuple[Path, ...]
    agent: Literal["teacher", "policy"]
    training: dict[str, str] = dataclasses.field(default_factory=dict)
    """Training variables of this round only."""
    il_share: float = 1.0
    """Part of D_IL that is learnt again in this round, by task; each round draws its own part."""


@dataclasses.dataclass(frozen=True)
class Teacher:
    """An OpenAI-compatible endpoint to imitate. Without `api_base` the embedded teacher is started."""

    api_base: str = ""
    api_model: str = "teacher"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A run: a starting policy, test tasks, and the rounds that train on from there."""

    name: str
    starting_policy: Path
    test_tasks: Path | tuple[Path, ...]
    rounds: list[Round]
    image_recipe: Literal["published", "keep"] = "published"
    """What a starting policy sees that is an idefics2 as released, in the untrained test as in training: what
    OpenWebVoyager trained with (980 pixels, not split), or what its files say. Other policies see what they say."""
    embedded_sites: bool = True
    """Serve the embedded websites while browsing."""
    teacher: Teacher = Teacher()
    collection: Collection = Collection()
    serving: Serving = Serving()
    training: Training = Training()

    def check(self) -> None:
        """Raise `UserError` for what would fail hours later."""
        tasks = [files(self.test_tasks), *(files(round.tasks) for round in self.rounds)]
        for path in [self.starting_policy, *(path for paths in tasks for path in paths)]:
            if not path.exists():
                raise UserError(f"recipe {self.name}: {path} does not exist")
        names = ["untrained", *(round.name for round in self.rounds)]
        if len(set(names)) != len(names):
            raise UserError(f"recipe {self.name}: two rounds have the same name")
        if any(not 0 <= round.il_share <= 1 for round in self.rounds):
            raise UserError(f"recipe {self.name}: il_share is a part of D_IL, from 0 to 1")
        if self.rounds and self.rounds[0].agent != "teacher":
            raise UserError(f"recipe {self.name}: the first round must imitate a teacher (agent='teacher')")

    def to_json(self) -> dict[str, Any]:
        """With paths within the checkout relative to it, so that a run moves together with its checkout."""
        return json.loads(json.dumps(dataclasses.asdict(self), default=_portable))


def _portable(path: Path) -> str:
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def files(tasks: Path | tuple[Path, ...]) -> tuple[Path, ...]:
    """One task file or several, as several."""
    return tasks if isinstance(tasks, tuple) else (tasks,)


def load_recipe(path: Path) -> Recipe:
    """Import a recipe file and call its `recipe()`."""
    if not path.is_file():
        raise UserError(f"{path}: no such recipe; give a Python file with `def recipe() -> Recipe`")
    spec = importlib.util.spec_from_file_location("elcano_recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "recipe"):
        raise UserError(f"{path}: defines no recipe()")
    recipe = module.recipe()
    recipe.check()
    return recipe


def remember_recipe(recipe: Recipe, run_dir: Path) -> None:
    """Keep the recipe with the run; refuse to continue a run that was started with another one."""
    path = run_dir / "recipe.json"
    if not path.exists():
        write_json(path, recipe.to_json())
    elif (old := read_json(path)) != recipe.to_json():
        changed = [key for key in recipe.to_json() if old.get(key) != recipe.to_json()[key]]
        raise UserError(
            f"{run_dir} was started with another recipe (changed: {', '.join(changed)}); "
            "give another --output_dir, or delete that folder to start over"
        )
