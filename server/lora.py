"""LoRA adapters: several fine-tunes of one checkpoint served in the same batch, each request naming its own.

Reads the folders that PEFT writes (adapter_config.json, adapter_model.safetensors). An adapted linear layer adds
`scale * B(A(x))` for the tokens of each adapter; the tokens of a step lie end to end, so they are a row index.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from common.errors import UserError

_TARGET = "base_model.model."


class AdaptedLinear(torch.nn.Module):
    """A linear layer of the text model and what adapters add to it."""

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

    def __init__(self, hf_model: torch.nn.Module, folders: Mapping[str, str]):
        self.names = set(folders)
        self.rows: dict[str, torch.Tensor] = {}
        for name, folder in folders.items():
            self._load(hf_model, name, Path(folder))

    def check(self, name: str) -> None:
        """Raises `UserError` for an adapter that is not loaded; "" is the bare model."""
        if name and name not in self.names:
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

    def _load(self, hf_model: torch.nn.Module, name: str, folder: Path) -> None:
        config, weights = _read(name, folder)
        if config.get("use_dora") or config.get("bias", "none") != "none" or config.get("modules_to_save"):
            raise UserError(f"adapter {name}: only plain LoRA is served (no DoRA, trained biases or whole modules)")
        rank_root = config["r"] ** 0.5 if config.get("use_rslora") else config["r"]
        paths = sorted({key.rsplit(".lora_", 1)[0] for key in weights})
        for path in paths:
            parent_path, _, leaf = path.removeprefix(_TARGET).rpartition(".")
            try:
                parent = hf_model.get_submodule(parent_path)
                base = getattr(parent, leaf)
                down, up = weights[f"{path}.lora_A.weight"], weights[f"{path}.lora_B.weight"]
            except (AttributeError, KeyError):
                raise UserError(f"adapter {name}: the model has no layer {path}, or half of it is missing") from None
            if "text_model" not in path and "language_model" not in path:
                raise UserError(f"adapter {name}: {path} is outside the language model, which alone is adapted here")
            linear = base if isinstance(base, AdaptedLinear) else AdaptedLinear(base, self)
            weight = linear.base.weight
            if (up.shape[0], down.shape[1]) != (linear.base.out_features, linear.base.in_features):
                raise UserError(f"adapter {name}: {path} has another shape than the model's layer")
            scale = config["lora_alpha"] / rank_root
            dtype = weight.dtype if weight.is_floating_point() else torch.bfloat16  # 4-bit layers compute in bfloat16
            linear.deltas[name] = (down.to(weight.device, dtype), (scale * up).to(weight.device, dtype))
            setattr(parent, leaf, linear)


def _read(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    try:
        config = json.loads((folder / "adapter_config.json").read_text())
        return config, load_file(folder / "adapter_model.safetensors")
    except Exception as error:  # several kinds of unreadable files
        raise UserError(f"adapter {name}: {folder} is not a PEFT adapter ({type(error).__name__}: {error})") from None
