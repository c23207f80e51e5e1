"""Who says whether a trajectory succeeded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from common.options.limits import Checked, Limit, above, at_least
from common.options.own_module import is_own

_NAMES = ("auto", "none", "oracle", "webvoyager", "pae", "digirl", "webarena", "miniwob", "orm", "finished")
_JUDGE = Limit(
    f"one of {', '.join(_NAMES)}, or the module path of your own", lambda name: name in _NAMES or is_own(name)
)
JudgeName = Annotated[str, _JUDGE]
_ODD = Limit("an odd number, so that votes cannot tie", lambda votes: votes % 2 == 1 and votes > 0)
_FEW = Limit("a share of wrong verdicts, at least 0 and below 0.5", lambda share: 0 <= share < 0.5)


@dataclass(frozen=True, kw_only=True)
class JudgeFlags(Checked):
    """Flags shared by `run.py`, `exploration_feedback.py` and `auto_eval.py`."""

    judge: JudgeName = "auto"
    """Who judges. `oracle`: the embedded sites' ground truth; `webvoyager`, `pae`: a model's verdict on the end;
    `digirl`: a model's verdict on every step; `webarena`: WebArena's evaluators; `miniwob`: its reward; `orm`: a reward
    model; `finished`: whoever answers succeeds; `auto`: webvoyager with --api_eval_model, else oracle. A name with a
    dot, `mine.overlap`: the function `judge` of that module of yours."""
    api_eval_model: str = ""
    """Model that judges, at any OpenAI-compatible endpoint."""
    eval_api_base: str = ""
    """Base URL of that endpoint. Empty: OpenAI's own. Its key is EVAL_API_KEY; OPENAI_API_KEY for OpenAI's own,
    ELCANO_API_KEY for our server on this machine or on the host of --eval_score_url."""
    eval_imgs: Annotated[int, at_least(0)] = 3
    """Newest screenshots a model judges by; 0 shows all."""
    eval_trees: Annotated[int, at_least(0)] = 0
    """Newest pages whose text (accessibility tree) a model judges by as well."""
    eval_reply: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    """How a model gives its verdict: by a JSON schema, as a JSON object, or as the last line of a text, which is what
    the published judges are asked for. `auto`: the first of these that the endpoint takes."""
    eval_rules: Literal["whole", "published"] = "whole"
    """How `webarena` compares. `whole`: addresses as browsers write them, words and numbers as wholes; `published`: as
    WebArena's code looks for one text in another, for figures beside published ones."""
    eval_votes: Annotated[int, _ODD] = 1
    """Votes of a model, an odd number; the majority decides."""
    eval_timeout_s: Annotated[float, above(0)] = 120.0
    """Seconds an answer may take."""
    eval_budget_usd: Annotated[float, at_least(0)] | None = None
    """Most that judging into this folder may cost, over all restarts. What is left over is `invalid`, not failed."""
    eval_max_requests: Annotated[int, at_least(0)] | None = None
    """The same as a number of requests."""
    eval_usd_per_mtok: tuple[float, float] | None = None
    """US dollars per million prompt and completion tokens, for models whose prices are not known here."""
    eval_cache: Path | None = None
    """Folder of remembered replies; empty: `.judge` in the results folder."""
    eval_score_url: str = ""
    """The /score address of the server that holds the reward model (--judge orm)."""
    eval_noise: Annotated[float, _FEW] = 0.0
    """Share of verdicts that are turned round on purpose, to see what a method can stand."""

    @property
    def judge_name(self) -> str:
        """`judge`, or what `auto` stands for."""
        return ("webvoyager" if self.api_eval_model else "oracle") if self.judge == "auto" else self.judge
