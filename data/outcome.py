"""Outcome: what a judge, or a fault, says of one trajectory."""

import dataclasses
from enum import StrEnum
from typing import Any

from common.errors import UserError
from common.options.fields import check_fields


class Verdict(StrEnum):
    """`BLOCKED`: the website turned the agent away. `INFEASIBLE`: the task cannot be done. `INVALID`: a fault of
    browser, network, server or judge."""

    SUCCESS = "success"
    FAILURE = "failure"
    BLOCKED = "blocked"
    INFEASIBLE = "infeasible"
    INVALID = "invalid"

    @property
    def solved(self) -> bool | None:
        """Whether the agent solved its task. None of what tells nothing of the agent: it is in no success rate, has no
        reward and is not trained on, and no judge is asked about it."""
        return {Verdict.SUCCESS: True, Verdict.FAILURE: False}.get(self)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`judge` names who said it, `raw` keeps an LLM judge's own words and `prompt_hash` what it was told, `reason` is
    one line for people."""

    verdict: Verdict
    reason: str = ""
    judge: str = ""
    raw: str = ""
    prompt_hash: str = ""

    @property
    def success(self) -> bool:
        return self.verdict is Verdict.SUCCESS

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Any) -> "Outcome":
        """The inverse of `to_json`; `UserError` for anything else."""
        try:
            outcome = cls(**{**fields, "verdict": Verdict(fields["verdict"])})
        except (TypeError, KeyError, ValueError) as error:
            raise UserError(f"not an outcome ({error!r})") from None
        check_fields("the outcome", outcome)
        return outcome
