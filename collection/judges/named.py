"""The judge that flags name."""

import os
from collections.abc import Sequence
from pathlib import Path

from collection.config.judging import JudgeFlags
from collection.endpoints.keys import endpoint_key
from collection.judges import Judge
from collection.judges.endpoint.ledger import PRICES, Budget, Ledger
from common.errors import UserError
from common.options.own_module import attribute_of, is_own
from data.task import Task

_NEED_GROUND_TRUTH = ("oracle", "webarena")


def make_judge(
    flags: JudgeFlags, results_dir: Path, tasks: Sequence[Task], key: str = "", own_servers: Sequence[str] = ()
) -> tuple[Judge | None, Ledger | None]:
    """(the judge these flags name, None for `none`; the ledger of what it costs, None when it costs nothing).

    `key` was given for the judging endpoint; else the environment's is taken. `own_servers` are addresses of our
    servers beside --eval_score_url.

    Raises:
        UserError: flags that don't fit, or a task without the ground truth that the judge compares with.
    """
    check_judged(flags, tasks)
    judge, ledger = _make(flags, results_dir, key, tasks, own_servers)
    if judge is not None and flags.eval_noise:
        from collection.judges.noisy import NoisyJudge

        judge = NoisyJudge(judge, flags.eval_noise)
    return judge, ledger


def _make(
    flags: JudgeFlags, results_dir: Path, key: str, tasks: Sequence[Task], own_servers: Sequence[str]
) -> tuple[Judge | None, Ledger | None]:
    name = flags.judge_name
    if name == "none":
        return None, None
    if is_own(name):
        return attribute_of(name, "judge", f"--judge {name}"), None
    if name == "oracle":
        from collection.judges import oracle

        return oracle.judge, None
    if name in ("miniwob", "finished"):
        from collection.judges import rewards

        return getattr(rewards, name), None
    if name == "orm":
        from collection.judges.reward_model import RewardModelJudge

        return RewardModelJudge(flags.eval_score_url), None
    if name == "webarena" and not flags.api_eval_model:
        from collection.judges.webarena import WebArenaJudge

        check_no_fuzzy_answers(tasks)
        return WebArenaJudge(rules=flags.eval_rules), None
    return _make_model_judge(flags, results_dir, key, own_servers)


def _make_model_judge(
    flags: JudgeFlags, results_dir: Path, key: str, own_servers: Sequence[str]
) -> tuple[Judge, Ledger]:
    from collection.judges.endpoint.endpoint import Endpoint
    from collection.judges.endpoint.reply_cache import ReplyCache
    from collection.judges.step_judge import StepJudge
    from collection.judges.verdict_judge import VerdictJudge
    from collection.judges.verdicts import prompts  # these import the openai package, which takes a second
    from collection.judges.webarena import WebArenaJudge

    name = flags.judge_name
    if not flags.api_eval_model:
        raise UserError(f"--judge {name} needs --api_eval_model, the model that judges")
    folder = results_dir / ".judge"
    prices = flags.eval_usd_per_mtok or PRICES.get(flags.api_eval_model)
    ledger = Ledger(folder / "costs.jsonl", Budget(flags.eval_budget_usd, flags.eval_max_requests, prices))
    cache = ReplyCache(flags.eval_cache or folder / "replies")
    key = endpoint_key(
        flags.eval_api_base, key or os.environ.get("EVAL_API_KEY", ""), (flags.eval_score_url, *own_servers)
    )
    endpoint = Endpoint(
        flags.api_eval_model,
        key,
        flags.eval_api_base,
        cache,
        ledger,
        flags.eval_timeout_s,
        None if flags.eval_reply == "auto" else flags.eval_reply,
    )
    if name == "digirl":
        return StepJudge(endpoint, flags.eval_trees, flags.eval_votes), ledger
    if name == "webarena":
        return WebArenaJudge(endpoint, flags.eval_rules), ledger
    prompt = prompts.PAE if name == "pae" else prompts.WEBVOYAGER
    shown = prompts.Shown(flags.eval_imgs, flags.eval_trees)
    return VerdictJudge(name, endpoint, prompt, shown, flags.eval_votes), ledger


def check_judged(flags: JudgeFlags, tasks: Sequence[Task]) -> None:
    """Raise UserError for the first task that the judge these flags name has nothing to compare with."""
    if flags.judge_name in _NEED_GROUND_TRUTH:
        check_ground_truth(flags.judge_name, tasks)


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
        if "fuzzy_match" in (task.truth.get("reference_answers") or {}):
            raise UserError(f"task {task.id} has a fuzzy answer, which a model must judge: give --api_eval_model")
