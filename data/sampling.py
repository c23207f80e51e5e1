"""How a reply is drawn: each parameter's name, limits and meaning, for servers, their clients and trajectories."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from common.options.limits import Checked, Limit, at_least, between

Temperature = Annotated[float, between(0, 100)]
TopK = Annotated[int, between(0, 2**31 - 1)]
TopP = Annotated[float, Limit("above 0 and at most 1", lambda mass: 0 < mass <= 1)]
NumTokens = Annotated[int, at_least(1)]
Seed = Annotated[int, between(0, 2**63 - 1)]


NEUTRAL = {"temperature": 1, "top_k": 0, "top_p": 1}
"""At these values a reply is drawn from the model's own distribution."""


def drawn_otherwise(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Of what was applied, by name, that which made the distribution another one than the model's own."""
    return {name: sampling[name] for name, value in NEUTRAL.items() if sampling.get(name, value) != value}


@dataclass(frozen=True)
class SamplingDefaults(Checked):
    """What a server applies where a request says nothing: OpenWebVoyager's constants; `top_k` is what transformers'
    `generate` applied there by default."""

    temperature: Temperature = 1.2
    """Default sampling temperature; 0 is greedy."""
    top_k: TopK = 50
    """Sample among the k likeliest tokens; 0 switches this off."""
    top_p: TopP = 1.0
    """Sample among the likeliest tokens that make up this mass."""
    max_new_tokens: NumTokens = 256
    """Longest reply."""
    min_new_tokens: Annotated[int, at_least(0)] = 3
    """No end token before this many."""


@dataclass(frozen=True, kw_only=True)
class SamplingRequest(Checked):
    """What a client asks for; None leaves it to the server."""

    temperature: Temperature | None = None
    """Sampling temperature; the server's own default when not given."""
    top_k: TopK | None = None
    """Sample among the k likeliest tokens; only a /predict server takes it."""
    top_p: TopP | None = None
    """Sample among the likeliest tokens that make up this mass."""
    max_new_tokens: NumTokens | None = None
    """Longest reply. None: the /predict server's own; of a chat endpoint 1000 tokens, 256 with `--prompt trained`."""
    seed: Seed | None = None
    """Seed of the run: each request's sampling seed is derived from it, the task, the try and the step."""

    def asked(self, seed: int | None) -> dict[str, float]:
        """What is given, with a request's own seed."""
        return {name: value for name, value in {**self._values(), "seed": seed}.items() if value is not None}

    def _values(self) -> dict[str, float | None]:
        return {field.name: getattr(self, field.name) for field in fields(SamplingRequest)}
