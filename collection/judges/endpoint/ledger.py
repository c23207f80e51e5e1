"""What judging costs: every request is written down, and none is sent that the budget might not cover.

The ledger is a JSONL file that outlives the command, so a budget holds over any number of restarts.
"""

import json
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collection.judges.endpoint.faults import BudgetSpentError
from common.errors import UserError
from common.files import parse_json, read_lines

# US dollars per million (prompt, completion) tokens, as published in 2025; other models' prices are given by flag.
PRICES = {
    "gpt-4o": (2.5, 10.0),
    "gpt-4o-mini": (0.15, 0.6),
    "gpt-4.1": (2.0, 8.0),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4-vision-preview": (10.0, 30.0),
}
TOKENS_PER_IMAGE = 765  # of a 1024x768 screenshot in four tiles, as OpenAI counts them
CHARACTERS_PER_TOKEN = 3  # on the safe side for English


@dataclass(frozen=True)
class Budget:
    """None is no limit. `prices` as in PRICES; without them a limit in dollars makes no sense."""

    usd: float | None = None
    num_requests: int | None = None
    prices: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.usd is not None and self.prices is None:
            raise UserError("a budget in dollars needs the model's prices: give --eval_usd_per_mtok PROMPT COMPLETION")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars."""
        prompt_price, completion_price = self.prices or (0.0, 0.0)
        return (prompt_tokens * prompt_price + completion_tokens * completion_price) / 1e6


class Ledger:
    """Thread-safe. `reserve` before a request, then exactly one `settle`."""

    def __init__(self, path: Path, budget: Budget):
        self.path, self.budget = path, budget
        self.spent_usd, self.num_requests = 0.0, 0
        self.counts: Counter[str] = Counter()  # of this command: fates of requests, cache hits, tokens
        self._reserved_usd, self._reserved_requests = 0.0, 0
        self._lock = threading.Lock()
        for line in read_lines(path) if path.exists() else []:
            self._add_earlier(line)

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Set aside what a request of at most these tokens costs; returns the dollars to `settle`.

        Raises:
            BudgetSpentError: that is not left; nothing is set aside.
        """
        usd = self.budget.cost(prompt_tokens, completion_tokens)
        with self._lock:
            if self.budget.usd is not None and self.spent_usd + self._reserved_usd + usd > self.budget.usd:
                raise BudgetSpentError(f"the budget of {self.budget.usd:g} USD is spent ({self.spent_usd:.4f} USD)")
            limit = self.budget.num_requests
            if limit is not None and self.num_requests + self._reserved_requests >= limit:
                raise BudgetSpentError(f"the budget of {limit} requests is spent")
            self._reserved_usd += usd
            self._reserved_requests += 1
        return usd

    def settle(self, reserved_usd: float, fate: str, prompt_tokens: int, completion_tokens: int) -> None:
        """Write down a request's fate; a request that got no answer is taken to have cost nothing when it was refused,
        and its whole estimate when it was lost on the way."""
        usd = reserved_usd if fate == "lost" else self.budget.cost(prompt_tokens, completion_tokens)
        entry = {"fate": fate, "usd": usd, "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
        with self._lock:
            self._reserved_usd -= reserved_usd
            self._reserved_requests -= 1
            self._add(entry)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def count_cache_hit(self) -> None:
        """A reply that cost nothing."""
        with self._lock:
            self.counts["cached"] += 1

    def report(self) -> dict[str, Any]:
        """`usd` and `num_requests` since the ledger began; the rest of this command only."""
        with self._lock:
            return {"usd": round(self.spent_usd, 6), "num_requests": self.num_requests, **dict(self.counts)}

    def _add(self, entry: dict[str, Any]) -> None:
        self.spent_usd += entry["usd"]
        self.num_requests += 1
        self.counts[entry["fate"]] += 1
        self.counts["prompt_tokens"] += entry["prompt_tokens"]
        self.counts["completion_tokens"] += entry["completion_tokens"]

    def _add_earlier(self, line: str) -> None:
        try:
            entry = parse_json(line)
            self.spent_usd += entry["usd"]
            self.num_requests += 1
        except (ValueError, KeyError, TypeError):  # the last line of a run that was killed
            return


def estimate_tokens(messages: list[dict[str, Any]]) -> int:
    """An upper estimate of a chat request's prompt tokens."""
    tokens = 0
    for message in messages:
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        for part in parts:
            tokens += TOKENS_PER_IMAGE if "image_url" in part else -(-len(part["text"]) // CHARACTERS_PER_TOKEN)
    return tokens
