"""Which parts of a model learn."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every projection of the language model: W + alpha / rank * B A (Hu et al., 2021)."""

    rank: int
    alpha: float

    @property
    def scale(self) -> float:
        """What B A is multiplied by."""
        return self.alpha / self.rank


@dataclasses.dataclass(frozen=True)
class Trainable:
    """What is not frozen. With `lora`, only the adapters of the language model learn, whatever `language` says."""

    vision: bool = True
    connector: bool = True
    language: bool = True
    lora: Lora | None = None


EVERYTHING = Trainable()
