"""Flags of `propose_tasks.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from common.errors import UserError
from common.options.limits import Checked, at_least, between
from data.sampling import Temperature

Method = Literal["names", "demos", "self_instruct", "evolve", "given"]


@dataclass(frozen=True, kw_only=True)
class ProposerFlags(Checked):
    """Who proposes, how, and what proposals must pass: what a recipe may say."""

    method: Method = "names"
    """What the model starts from; `given`: no model is asked, the tasks of --seed_files pass the filters."""
    num_tasks: Annotated[int, at_least(1)] = 100
    """Tasks wanted, shared evenly between the sites."""
    tasks_per_request: Annotated[int, at_least(1)] = 25
    """Tasks asked for at once."""
    num_examples: Annotated[int, at_least(1)] = 8
    """Examples or failed tasks shown with each request."""
    num_imgs: Annotated[int, at_least(0)] = 3
    """Screenshots of a demonstration shown (demos); 0 shows none."""
    num_trees: Annotated[int, at_least(0)] = 0
    """Pages of a demonstration whose text is shown."""
    max_similarity: Annotated[float, between(0, 1)] = 0.9
    """A proposal as similar as this to a known task is a duplicate."""
    check_feasibility: bool = False
    """Ask the model about each proposal whether it can be done."""
    critic_window: tuple[float, float] = (0.05, 0.75)
    """Neither hopeless nor solved (WebRL)."""
    ground_truth: bool = False
    """Embedded sites only: keep what their oracle knows to be feasible and outside its test split, with its `eval`."""
    api_model: str = "gpt-4o"
    """Model that proposes, at any OpenAI-compatible endpoint."""
    api_base: str = ""
    """Base URL of that endpoint. Empty: OpenAI's own."""
    temperature: Temperature = 1.0
    """Sampling temperature of proposals."""
    seed: int = 0
    """Seed of the choice of examples and of sampling."""
    budget_usd: Annotated[float, at_least(0)] | None = None
    """Most that all requests into this output file may cost, over all restarts."""


@dataclass(frozen=True, kw_only=True)
class ProposalsConfig(ProposerFlags):
    """Flags of `propose_tasks.py`."""

    output_file: Path
    """The task file to write."""
    sites_file: Path | None = None
    """Task file whose sites are meant (names)."""
    seed_files: tuple[Path, ...] = ()
    """Task files: examples (self_instruct), the tasks that were tried (evolve), or the proposals (given). For every
    other method: known tasks and not proposed again; what they name (a tab, an option) is vocabulary, also where test
    tasks name it."""
    results_dir: Path | None = None
    """Trajectories: demonstrations to look at (demos), or the tries that show which seeds failed (evolve)."""
    test_files: tuple[Path, ...] = ()
    """Test tasks, from which nothing may leak."""
    id_prefix: str = "proposed"
    """Part of the new tasks' ids, `<site>-<id_prefix>--<number>`."""
    critic_scores: Path | None = None
    """JSONL of {"ques", "score"}: keep proposals whose score lies in --critic_window, drop those without one."""
    api_key: str = ""
    """The endpoint's key; better set ENDPOINT_API_KEY, or OPENAI_API_KEY for OpenAI's own."""

    def check_together(self) -> None:
        """What each method needs."""
        needs = {"names": "sites_file", "demos": "results_dir"}
        name = needs.get(self.method, "seed_files")
        if not getattr(self, name):
            raise UserError(f"--method {self.method} needs --{name}")
        if self.method == "evolve" and self.results_dir is None:
            raise UserError("--method evolve needs --results_dir, the tries that show which seeds failed")
