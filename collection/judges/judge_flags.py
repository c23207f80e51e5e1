"""Flags of everything that judges, and the judge they name."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collection.endpoints.keys import endpoint_key
from collection.judges import Judge
from collection.judges.ledger import PRICES, Budget, Ledger
from common.errors import UserError
from data.task import Task

JudgeName = Literal["auto", "none", "oracle", "webvoyager", "pae", "digirl", "webarena", "miniwob", "orm", "finished"]
_NEED_GROUND_TRUTH = ("oracle", "webarena")


@dataclass(frozen=True, kw_only=True)
class JudgeFlags:
    """Flags shared by `run.py`, `exploration_feedback.py` and `auto_eval.py`."""

    judge: JudgeName = "auto"
    """Who judges. `oracle`: the embedded sites' ground truth; `webvoyager`, `pae`: a model's verdict on the end;
    `digirl`: a model's verdict on every step; `webarena`: WebArena's evaluators; `miniwob`: its reward; `orm`: a reward
    model; `finished`: whoever answers succeeds; `auto`: webvoyager with --api_eval_model, else oracle."""
    api_eval_model: str = ""
    """Model that judges, at any OpenAI-compatible endpoint."""
    eval_api_base: str = ""
    """Base URL of that endpoint. Empty: OpenAI's own. Its key is EVAL_API_KEY; OPENAI_API_KEY for OpenAI's own,
    ELCANO_API_KEY for our server on this machine or on the host of --eval_score_url."""
    eval_imgs: int = 3
    """Newest screenshots a model judges by; 0 shows all."""
    eval_trees: int = 0
    """Newest pages whose text (accessibility tree) a model judges by as well."""
    eval_votes: int = 1
    """Votes of a model, an odd number; the majority decides."""
    eval_timeout_s: float = 120.0
    """Seconds an answer may take."""
    eval_budget_usd: float | None = None
    """Most that judging into this folder may cost, over all restarts. What is left over is `invalid`, not failed."""
    eval_max_requests: int | None = None
    """The same as a number of requests."""
    eval_usd_per_mtok: tuple[float, float] | None = None
    """US dollars per million prompt and completion tokens, for models whose prices are not known here."""
    eval_cache: Path | None = None
    """Folder of remembered replies; empty: `.judge` in the results folder."""
    eval_score_url: str = ""
    """The /score address of the server that holds the reward model (--judge orm)."""
    eval_noise: float = 0.0
    """Share of verdicts that are turned round on purpose, to see what a method can stand."""

    def make_judge(
        self, results_dir: Path, tasks: Sequence[Task], key: str = "", own_servers: Sequence[str] = ()
    ) -> "tuple[Judge | None, Ledger | None]":
        """(the judge these flags name, None for `none`; the ledger of what it costs, None when it costs nothing).

        `key` was given for the judging endpoint; else the environment's is taken. `own_servers` are addresses of our
        servers beside --eval_score_url.

        Raises:
            UserError: flags that don't fit, or a task without the ground truth that the judge compares with.
        """
        name = self._name()
        if name in _NEED_GROUND_TRUTH:
            check_ground_truth(name, tasks)
        judge, ledger = self._make(name, results_dir, key, tasks, own_servers)
        if judge is not None and self.eval_noise:
            from collection.judges.noisy import NoisyJudge

            judge = NoisyJudge(judge, self.eval_noise)
        return judge, ledger

    def _name(self) -> str:
        if self.judge == "auto":
            return "webvoyager" if self.api_eval_model else "oracle"
        return self.judge

    def _make(
        self, name: str, results_dir: Path, key: str, tasks: Sequence[Task], own_servers: Sequence[str]
    ) -> "tuple[Judge | None, Ledger | None]":
        if name == "none":
            return None, None
        if name == "oracle":
            from collection.judges import oracle

            return oracle.judge, None
        if name in ("miniwob", "finished"):
            from collection.judges import rewards

            return getattr(rewards, name), None
        if name == "orm":
            from collection.judges.reward_model import RewardModelJudge

            return RewardModelJudge(self.eval_score_url), None
        if name == "webarena" and not self.api_eval_model:
            from collection.judges.webarena import WebArenaJudge

            check_no_fuzzy_answers(tasks)
            return WebArenaJudge(), None
        return self._make_model_judge(name, results_dir, key, own_servers)

    def _make_model_judge(
        self, name: str, results_dir: Path, key: str, own_servers: Sequence[str]
    ) -> "tuple[Judge, Ledger]":
        from collection.judges import prompts  # these import the openai package, which takes a second
        from collection.judges.endpoint import Endpoint
        from collection.judges.reply_cache import ReplyCache
        from collection.judges.step_judge import StepJudge
        from collection.judges.verdict_judge import VerdictJudge
        from collection.judges.webarena import WebArenaJudge

        if not self.api_eval_model:
            raise UserError(f"--judge {name} needs --api_eval_model, the model that judges")
        if self.eval_imgs < 0 or self.eval_trees < 0 or self.eval_timeout_s <= 0:
            raise UserError("--eval_imgs and --eval_trees must not be negative, --eval_timeout_s must be above 0")
        folder = results_dir / ".judge"
        prices = self.eval_usd_per_mtok or PRICES.get(self.api_eval_model)
        ledger = Ledger(folder / "costs.jsonl", Budget(self.eval_budget_usd, self.eval_max_requests, prices))
        cache = ReplyCache(self.eval_cache or folder / "replies")
        key = endpoint_key(
            self.eval_api_base, key or os.environ.get("EVAL_API_KEY", ""), (self.eval_score_url, *own_servers)
        )
        endpoint = Endpoint(self.api_eval_model, key, self.eval_api_base, cache, ledger, self.eval_timeout_s)
        if name == "digirl":
            return StepJudge(endpoint, self.eval_trees, self.eval_votes), ledger
        if name == "webarena":
            return WebArenaJudge(endpoint), ledger
        prompt = prompts.PAE if name == "pae" else prompts.WEBVOYAGER
        shown = prompts.Shown(self.eval_imgs, self.eval_trees)
        return VerdictJudge(name, endpoint, prompt, shown, self.eval_votes), ledger


def check_ground_truth(judge: str, tasks: Sequence[Task]) -> None:
    """Raise UserError for the first task that has nothing to compare with."""
    for task in tasks:
        if not task.eval:
            raise UserError(
                f"task {task.id} has no ground truth (a field `eval`), so the judge {judge} cannot judge it; "
                "let a model judge: --api_eval_model NAME"
            )


def check_no_fuzzy_answers(tasks: Sequence[Task]) -> None:
    """Raise UserError for the first task whose answer a model must judge."""
    for task in tasks:
        if "fuzzy_match" in (task.eval.get("reference_answers") or {}):
            raise UserError(f"task {task.id} has a fuzzy answer, which a model must judge: give --api_eval_model")
