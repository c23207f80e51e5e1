"""The last layer, computed for the tokens that are read behind it: of a prompt, the last one.

Of the others it makes keys and values, which is all that later tokens need of them.
"""

import functools
from typing import Any

import torch

from server.engine.model.lora import Adapters
from server.engine.model.ragged_attention import RaggedStep


def cut(text_model: Any, adapters: Adapters) -> None:
    """Have the last layer of a Hugging Face text model leave out what nobody reads, in a `step`."""
    layer = text_model.layers[-1]
    layer.forward = functools.partial(_forward, layer, layer.forward, adapters)


def _forward(
    layer: Any, whole: Any, adapters: Adapters, hidden: torch.Tensor, step: RaggedStep | None = None, **kwargs: Any
) -> torch.Tensor:
    """[1, tokens, hidden] -> the same, 0 at tokens that are not read; without a step nothing is left out."""
    if step is None or len(step.read) == hidden.shape[1]:
        return whole(hidden, step=step, **kwargs)
    output = torch.zeros_like(hidden)
    attended, _ = layer.self_attn(hidden_states=layer.input_layernorm(hidden), step=step, **kwargs)
    if step.read:
        rows = torch.tensor(step.read, device=hidden.device)
        read = hidden[:, rows] + attended[:, rows]
        with adapters.narrowed(step.read):
            output[:, rows] = read + layer.mlp(layer.post_attention_layernorm(read))
    return output
