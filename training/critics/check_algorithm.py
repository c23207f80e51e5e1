"""Whether a round of a recipe can train with an algorithm, asked before it explores: exit code 2 and one line if not.

python -m training.critics.check_algorithm --algorithm digirl --algorithm_options horizon=8 --critic monte_carlo
"""

import dataclasses
from typing import Literal

from common import cli
from common.errors import UserError
from training import algorithms
from training.batches.columns import BEHAVIOR

OF_CRITICS = {"q_1", "q_2", "value_1", "value_2", "instruction_value"}


@dataclasses.dataclass(frozen=True)
class Config:
    """Ask what an algorithm refuses."""

    algorithm: str
    """A file in training/algorithms, or the module path of your own."""
    algorithm_options: str = ""
    """Its own options: NAME=VALUE,NAME=VALUE."""
    critic: Literal["", "td", "monte_carlo", "heads"] = ""
    """How the round's critic is fitted; none: Monte Carlo values."""
    candidates: bool = False
    """Whether the round draws candidate actions."""
    temperature: float = 1.0
    """At which the policy explores, if it does; this, and what follows, is that of the model itself unless given."""
    top_k: int = 0
    """Of how many tokens it draws; 0: of all."""
    top_p: float = 1.0
    """Of what mass of them."""


def main(config: Config) -> None:
    """Load it, and compare what it reads with what a round makes."""
    name, algorithm = config.algorithm, algorithms.load(config.algorithm, config.algorithm_options)
    if name == "sft":
        return
    if not algorithm.makes_columns:
        raise UserError(f"{name} makes no columns of rewards; filtered_bc with rule=all imitates everything")
    if algorithm.value_heads:
        raise UserError(f"{name} trains a critic, no policy; train it by hand (docs/reference/algorithms.md)")
    if config.critic and not set(algorithm.sources) & OF_CRITICS:
        raise UserError(f"{name} reads no critic; leave it out")
    if config.candidates and not algorithm.takes_candidates:
        raise UserError(f"{name} takes no candidates; leave them out")
    if "q_1" in algorithm.sources and config.critic in ("", "heads"):
        raise UserError(f"{name} goes by Q; give critic='td' or 'monte_carlo'")
    if "instruction_value" in algorithm.sources and config.critic == "td":
        raise UserError(f"{name} goes by an instruction's value; give critic='monte_carlo'")
    drawn = config.temperature > 0 and (config.top_k, config.top_p) == (0, 1)
    if BEHAVIOR in algorithm.needs.per_token and not drawn:
        raise UserError(
            f"{name} reads the log-probabilities with which actions were drawn, from all tokens; explore with a "
            "temperature above 0, top_k=0 and top_p=1"
        )


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
