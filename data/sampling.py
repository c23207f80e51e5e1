"""How a reply is drawn: each parameter's name, limits and meaning, for servers, their clients and trajectories."""

from dataclasses import dataclass
from typing import Annotated

from common.limits import Checked, Limit, at_least, between

Temperature = Annotated[float, between(0, 100)]
TopK = Annotated[int, between(0, 2**31 - 1)]
TopP = Annotated[float, Limit("above 0 and at most 1", lambda mass: 0 < mass <= 1)]
NumTokens = Annotated[int, at_least(1)]
Seed = Annotated[int, between(0, 2**63 - 1)]


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
