"""LoRA adapters: several fine-tunes of one checkpoint served in the same batch, each request naming its own.

A trainer's adapters are adopted one after the other: the newest reads what names none, and those before it stay until
nothing under way has them, so that weights change without a second model.

Reads the folders that PEFT writes (adapter_config.json, adapter_model.safetensors). An adapted linear layer adds
`scale * B(A(x))` for the tokens of each adapter; the tokens of a step lie end to end, so they are a row index.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from models.checkpoint.adapter_folder import Adapter, check_language_only, read_adapter
from models.checkpoint.blueprint import blueprint
from models.family import Family


class AdaptedLinear(torch.nn.Module):
    """A linear layer of the text model and what adapters add to it."""

    base: torch.nn.Module
    deltas: dict[str, tuple[torch.Tensor, torch.Tensor]]

    def __init__(self, base: torch.nn.Module, adapters: "Adapters"):
        super().__init__()
        self.base, self.deltas = base, {}
        self._adapters = adapters

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """[1, tokens, in] -> [1, tokens, out]"""
        output = self.base(inputs)
        for name, rows in self._adapters.rows.items():
            if name in self.deltas:
                down, up = self.deltas[name]
                output[0, rows] += inputs[0, rows] @ down.T @ up.T
        return output


class Adapters:
    """The adapters of one model, by name. `routed` says which tokens of the step under way belong to which."""

    def __init__(self, hf_model: torch.nn.Module, adapters: Mapping[str, Adapter]):
        self.names = set(adapters)
        self.adopted: list[str] = []
        self.rows: dict[str, torch.Tensor] = {}
        for name, adapter in adapters.items():
            self._add(hf_model, name, adapter)

    @property
    def default(self) -> str:
        """What reads a request that names none; "" is the bare model."""
        return self.adopted[-1] if self.adopted else ""

    def adopt(self, hf_model: torch.nn.Module, name: str, adapter: Adapter, in_use: Collection[str]) -> None:
        """From now on `name` is the default. Of earlier ones the last stays, for prompts that are being built, and
        those `in_use`."""
        self._add(hf_model, name, adapter)
        old = [one for one in self.adopted if one != name]
        gone = {one for one in old[:-1] if one not in in_use}
        self.adopted = [*(one for one in old if one not in gone), name]
        for linear in hf_model.modules():
            if isinstance(linear, AdaptedLinear):
                for one in gone:
                    linear.deltas.pop(one, None)

    def check(self, name: str) -> None:
        """Raises `UserError` for an adapter that is not loaded; "" is the bare model."""
        if name and name not in self.names and name not in self.adopted:
            raise UserError(f"no adapter {name!r} is loaded here; there are {sorted(self.names)}")

    @contextlib.contextmanager
    def routed(self, adapters: Sequence[str]) -> Iterator[None]:
        """`adapters[i]` reads token i of the step that runs inside."""
        named = set(adapters) - {""}
        self.rows = {name: torch.tensor([i for i, one in enumerate(adapters) if one == name]) for name in named}
        try:
            yield
        finally:
            self.rows = {}

    @contextlib.contextmanager
    def narrowed(self, tokens: Sequence[int]) -> Iterator[None]:
        """Inside, these of the step's tokens are all that there are."""
        before, place = self.rows, {token: index for index, token in enumerate(tokens)}
        self.rows = {
            name: torch.tensor([place[token] for token in rows.tolist() if token in place], dtype=torch.long)
            for name, rows in before.items()
        }
        try:
            yield
        finally:
            self.rows = before

    def _add(self, hf_model: torch.nn.Module, name: str, adapter: Adapter) -> None:
        for module, pair in adapter.pairs.items():
            parent_path, _, leaf = module.rpartition(".")
            parent = hf_model.get_submodule(parent_path)
            base = getattr(parent, leaf)
            linear = base if isinstance(base, AdaptedLinear) else AdaptedLinear(base, self)
            weight = linear.base.weight
            assert isinstance(weight, torch.Tensor)
            dtype = weight.dtype if weight.is_floating_point() else torch.bfloat16  # 4-bit layers compute in bfloat16
            up = pair.scale * pair.b.float()
            linear.deltas[name] = (pair.a.to(weight.device, dtype), up.to(weight.device, dtype))
            setattr(parent, leaf, linear)


def read_adapters(folders: Mapping[str, str], family: Family, config: Any) -> dict[str, Adapter]:
    """The adapters in `folders`, by the names of the model's modules in memory.

    Raises:
        UserError: as `read_adapter`, or one adapts more than the language model.
    """
    modules, found = blueprint(family, config).modules, {}
    for name, folder in folders.items():
        adapter = read_adapter(Path(folder), family, config)
        check_language_only(Path(folder), adapter, family, config)
        found[name] = Adapter({modules[weight]: pair for weight, pair in adapter.pairs.items()})
    return found
