"""Recipe: all that defines a run, as one typed value. A recipe file is Python with `def recipe() -> Recipe`.

Its parts are the flags of the commands themselves, so whatever a command can be told, a recipe can say, and what a
command refuses is refused when the recipe is made.
"""

import dataclasses
import importlib.util
import json
import re
import traceback
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from collection.config.commands import CandidatesConfig, ExplorationConfig, RunConfig
from collection.config.proposals import ProposerFlags
from common.defaults import ROOT
from common.errors import UserError
from common.files import read_object, write_json
from common.options.flags import changed
from common.options.limits import Checked, at_least, between
from data.checkpoint_folder import is_megatron
from data.image_recipe import ImageRecipe
from elcano.resources import Needs
from server.config import ServerConfig
from training.options import TrainingOptions

Value = TypeVar("Value")

_OWN = {
    "teacher": ("test_file", "output_dir", "dry_run", "api_key"),
    "exploration": ("test_file", "output_dir", "dry_run", "api_key", "api_localhost"),
    "testing": ("test_file", "output_dir", "dry_run", "api_key", "api_localhost", "status"),
    "serving": ("model_name_or_path", "host", "port", "api_key", "image_recipe"),
    "training": ("dry_run", "column_files"),
    "critic_training": ("dry_run", "column_files", "algorithm", "algorithm_options"),
    "representation": ("dry_run", "column_files", "algorithm", "algorithm_options"),
    "candidates": ("dataset_path", "output", "api_localhost", "action_space"),
}
"""What a run sets itself, by part; keys come from the environment, never from a recipe."""
_MAY_CHANGE = {"num_test_tasks", "controls", "looks", "overlap", "reference", "needs"}


@dataclasses.dataclass(frozen=True)
class Round(Checked):
    """One round: explore with `agent` on `tasks`, then train on D_IL and what it brought home.

    With an algorithm other than sft what was judged a failure is brought home, too, and D_IL are the samples of a first
    round that imitated a teacher, if there was one.
    """

    name: str
    tasks: Path | tuple[Path, ...]
    agent: Literal["teacher", "policy"]
    training: TrainingOptions | None = None
    """How this round trains; None: as the recipe says."""
    il_share: Annotated[float, between(0, 1)] = 1.0
    """Part of D_IL that is learned again in this round, by task; each round draws its own part."""
    corrections: bool = False
    """Learn, too, what the teacher would have done where the agent failed, in the agent's own states (DAgger)."""
    trajectories: Path | None = None
    """Learn from this folder of judged trajectories in place of exploring: offline, also from imported data. `tasks` is
    then ()."""
    before_share: Annotated[float, between(0, 0.99)] = 0.0
    """How much of the weights before the round stays in the policy after it: 0.5 is the mean of the two (WiSE-FT)."""
    buffer: bool = False
    """Learn from what the rounds before this one explored, too."""
    critic: Literal["", "td", "monte_carlo", "heads"] = ""
    """Whose values an algorithm takes: those of a small critic on the policy's features, fitted to bootstrapped returns
    or to outcomes; or of value heads on a copy of the policy, trained with it to tell outcomes (WebRL). None: the mean
    outcome of a task's other tries."""
    critic_folds: Annotated[int, at_least(1)] = 1
    """Critics, each fitted without its part of the tries, which it then judges."""
    critic_iters: Annotated[int, at_least(1)] = 2000
    """Optimizer steps of a small critic."""
    critic_training: TrainingOptions | None = None
    """How a critic of heads trains; None: as the round does."""
    candidates: CandidatesConfig | None = None
    """Draw candidate actions at each step from the policy that explored (digiq)."""
    representation: TrainingOptions | None = None
    """Before a critic reads features, fine-tune a copy of the policy in this way to say whether an action changed the
    screen, and take the features from there (Digi-Q)."""
    proposals: ProposerFlags | None = None
    """Explore tasks that a model proposes: on the sites of `tasks` (names), like them (self_instruct), or from what the
    round before did (demos, evolve); what evolves, that round's critic filters. Without `api_base` the embedded
    proposer is asked, where the embedded websites are served."""

    def check_together(self) -> None:
        if not re.fullmatch(r"\w[\w.-]*", self.name):
            raise UserError(
                f"a round cannot be called {self.name!r}, as its folder is; give letters, digits, -, _ and ."
            )
        if self.trajectories and (self.tasks != () or self.proposals):
            raise UserError(f"round {self.name}: trajectories are given, so it explores nothing; give tasks=()")
        if not self.trajectories and self.tasks == ():
            raise UserError(f"round {self.name}: has no tasks; give task files, or trajectories")
        if self.corrections and self.agent == "teacher":
            raise UserError(f"round {self.name}: the teacher's own round needs no corrections")
        if self.critic_training and self.critic != "heads":
            raise UserError(f"round {self.name}: critic_training is for value heads; give critic='heads'")
        if self.representation and self.critic not in ("td", "monte_carlo"):
            raise UserError(f"round {self.name}: a representation is for a critic's features; give critic='td'")
        for part in ("training", "critic_training", "candidates", "representation"):
            _check_own(f"round {self.name}", part, getattr(self, part))


@dataclasses.dataclass(frozen=True)
class Recipe(Checked):
    """A run: a starting policy, test tasks, and the rounds that train on from there."""

    name: str
    starting_policy: Path
    test_tasks: Path | tuple[Path, ...]
    rounds: list[Round]
    image_recipe: ImageRecipe = "published"
    """What a starting policy sees that is an idefics2 as released, in the untrained test as in training: what
    OpenWebVoyager trained with (980 pixels, not split), or what its files say. Other policies see what they say."""
    num_test_tasks: Annotated[int, at_least(1)] | None = None
    """Only so many of the test tasks, the first ones; None: all. A run may go on with another number: its policies are
    tested on what they have not tried yet."""
    controls: bool = False
    """Also train each later round again without what exploration brought, on D_IL alone for as many steps, and test
    it: what is above it was learned from exploration, not from more steps."""
    overlap: bool = False
    """Test a policy while the next round explores, on the same server if it explores by itself, where the executor can:
    the sessions of both are open. Not for websites that have one state for all, or where requests are spaced."""
    looks: bool = False
    """Also test the last policy with gray screenshots, and without trees: does it look, does it read?"""
    embedded_sites: bool = True
    """Serve the embedded websites while browsing."""
    teacher: ExplorationConfig = ExplorationConfig()
    """How a teacher is asked and judged. Without `api_base` or `api_localhost` the expert of its world is started."""
    exploration: ExplorationConfig = ExplorationConfig(max_rerun_times=5)
    """How the policy explores; what the judge calls a success is learned. A temperature of None is the server's own.
    With an `api_eval_model` of "judge" and no `eval_api_base` the embedded stand-in for a judging model is started."""
    testing: RunConfig = RunConfig(judge="oracle")
    """How the policy is tested; greedily, unless a temperature is given."""
    serving: ServerConfig = ServerConfig()
    """How the policy is served."""
    training: TrainingOptions = TrainingOptions()
    """How each round trains, whatever the family of the policy."""
    family_values: bool = True
    """What `training` leaves at its default is as the policy's family publishes it, such as a LLaVA's learning rate;
    False: as it stands there."""
    reference: Path | None = None
    """The `summary.json` of an earlier run, by which a run says at its begin how long it may take."""
    needs: Needs = Needs()
    """What the executor gives each kind of command."""

    def check_together(self) -> None:
        names = [self.start, *(round.name for round in self.rounds)]
        if len(set(names)) != len(names):
            raise UserError(f"recipe {self.name}: two rounds have the same name")
        if self.rounds and self.rounds[0].agent != "teacher" and self.training_of(self.rounds[0]).algorithm == "sft":
            raise UserError(f"recipe {self.name}: the first round must imitate a teacher (agent='teacher')")
        for round in self.rounds:
            if self.training_of(round).algorithm == "sft" and (round.critic or round.candidates):
                raise UserError(
                    f"recipe {self.name}: {round.name} imitates (sft), which takes no critic, no candidates"
                )
            if self.training_of(round).algorithm != "sft" and round.corrections:
                raise UserError(f"recipe {self.name}: {round.name}: corrections are imitated (sft), by nothing else")
        for number, round in enumerate(self.rounds):
            if round.proposals and round.proposals.method in ("demos", "evolve") and number == 0:
                raise UserError(f"recipe {self.name}: {round.name} has no round before it to propose tasks from")
        for part in _OWN.keys() - {"candidates", "critic_training", "representation"}:
            _check_own(f"recipe {self.name}", part, getattr(self, part))
        for part in ("teacher", "exploration", "testing"):
            if getattr(self, part).judge == "none":
                raise UserError(f"recipe {self.name}: {part} needs a judge")
        self._check_teacher()
        if self.overlap:
            self._check_overlap()
        if self.exploration.num_images != self.testing.num_images:
            raise UserError(
                f"recipe {self.name}: max_attached_imgs is {self.exploration.num_images} in exploration, which "
                f"the policy is trained for, but {self.testing.num_images} in testing"
            )

    def _check_teacher(self) -> None:
        """`UserError` where an expert is to teach that there is not."""
        asked, how = [round.name for round in self.rounds if round.agent == "teacher"], self.teacher
        if asked and not (how.api_base or how.api_localhost or (ROOT / expert_of(how.env)).exists()):
            raise UserError(
                f"recipe {self.name}: {asked[0]}: the world {how.env} has no expert; give teacher an api_base"
            )

    def _check_overlap(self) -> None:
        """`UserError` for what a test and an exploration at once would each keep by itself."""
        for name in ("exploration", "testing"):
            part: ExplorationConfig | RunConfig = getattr(self, name)
            given = [flag for flag in ("reset_command", "site_interval_s", "site_concurrency") if getattr(part, flag)]
            given += ["env='webarena'"] if part.env == "webarena" else []
            if given:
                raise UserError(
                    f"recipe {self.name}: {name} sets {given[0]}, which two collectors at once do not share; give "
                    "overlap=False"
                )

    @property
    def start(self) -> str:
        """What the starting policy is called."""
        return "start" if self.rounds and self.rounds[0].agent == "policy" else "untrained"

    def training_of(self, round: Round) -> TrainingOptions:
        """How a round trains."""
        return round.training or self.training

    def check_files(self) -> None:
        """Raise `UserError` for what would be missing hours later."""
        tasks = [files(self.test_tasks), *(files(round.tasks) for round in self.rounds)]
        given = [round.trajectories for round in self.rounds if round.trajectories]
        for path in [self.starting_policy, *given, *(path for paths in tasks for path in paths)]:
            if not path.exists():
                raise UserError(f"recipe {self.name}: {path} does not exist")
        if is_megatron(self.starting_policy):
            raise UserError(f"recipe {self.name}: {self.starting_policy} is Megatron's; convert it with mg2hf.sh")
        try:
            num_tasks = count_tasks(self.test_tasks)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"recipe {self.name}: the test tasks cannot be read: {error}") from None
        if (self.num_test_tasks or 0) > num_tasks:
            raise UserError(
                f"recipe {self.name}: num_test_tasks is {self.num_test_tasks}, but there are {num_tasks} test tasks"
            )

    def to_json(self) -> dict[str, Any]:
        """With paths within the checkout relative to it, so that a run moves together with its checkout."""
        return json.loads(json.dumps(dataclasses.asdict(self), default=_portable))


def _check_own(whose: str, part: str, config: Any) -> None:
    """`UserError` where a part of a recipe sets what a run sets itself."""
    for name in changed(config).keys() & set(_OWN[part]) if config else ():
        raise UserError(f"{whose}: {part} cannot set {name}, which a run sets itself; leave it out")


def _portable(path: Path) -> str:
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def expert_of(world: str) -> str:
    """The program that serves the expert of a world, a folder of environments/; not every world has one."""
    return f"environments/{world}/expert/server.py"


def files(tasks: Path | tuple[Path, ...]) -> tuple[Path, ...]:
    """One task file or several, as several."""
    return tasks if isinstance(tasks, tuple) else (tasks,)


def count_tasks(tasks: Path | tuple[Path, ...]) -> int:
    """Those of one task file or several."""
    return sum(bool(line.strip()) for path in files(tasks) for line in path.read_text(encoding="utf-8").split("\n"))


def load_recipe(path: Path, **values: Any) -> Recipe:
    """Import a recipe file and call its `recipe()`; one that others are made of may take values."""
    recipe = load_value(path, "recipe", Recipe, **values)
    recipe.check_files()
    return recipe


def load_value(path: Path, name: str, kind: type[Value], **values: Any) -> Value:
    """What the function `name` of a Python file returns. `UserError` unless it is of that kind."""
    if not path.is_file():
        raise UserError(f"{path}: no such recipe; give a Python file with `def {name}() -> {kind.__name__}`")
    spec = importlib.util.spec_from_file_location("elcano_recipe", path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: no recipe, as its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        value = getattr(module, name)(**values) if hasattr(module, name) else None
    except UserError:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == spec.origin]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [1])[-1]
        raise UserError(f"{path}, line {line}: {type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise UserError(f"{path}: defines no {name}() that returns {kind.__name__}")
    return value


def remember_recipe(recipe: Recipe, run_dir: Path) -> None:
    """Keep the recipe with the run, and rounds that came to it; refuse to continue a run that was started with another
    one."""
    path, now = run_dir / "recipe.json", recipe.to_json()
    if not path.exists():
        write_json(path, now)
        return
    began = read_object(path)
    left_out = [round["name"] for round in began["rounds"][len(now["rounds"]) :]]
    if names := sorted(name for name in _differing(began, now) if name.split(".")[0] not in _MAY_CHANGE):
        gone_on = f"; it has gone on to {left_out[-1]}, which this one leaves out" if left_out else ""
        raise UserError(
            f"{run_dir} was started with another recipe (changed: {', '.join(names)}{gone_on}); "
            "give another --output_dir, or delete that folder to start over"
        )
    if len(now["rounds"]) > len(began["rounds"]):
        write_json(path, {**began, "rounds": now["rounds"]})


def _differing(old: Any, now: Any, where: str = "") -> list[str]:
    """The names of what differs. An option that was not there yet when the run began is no difference."""
    if isinstance(old, list) and isinstance(now, list) and (len(old) == len(now) or where == "rounds"):
        now = now[: len(old)]  # further rounds are no difference
        old, now = dict(enumerate(old)), dict(enumerate(now))
    if not (isinstance(old, dict) and isinstance(now, dict)):
        return [] if old == now else [where]
    return [name for key in old for name in _differing(old[key], now.get(key), f"{where}.{key}".lstrip("."))]
