"""OpenWebVoyager's Megatron checkpoint, made from Hugging Face tensors by its map, rank by rank, unlike ours.

What a rank holds is written down here as index arithmetic on one rank, not as joins and cuts of whole tensors.
"""

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

Tensors = dict[str, torch.Tensor]


def write_legacy_checkpoint(
    folder: Path, tensors: Tensors, config: Any, num_ranks: int, trained: bool, num_extra_rows: int = 125
) -> None:
    """All ranks in `folder`; a trained one has other names, an optimizer, random states and two-part folder names."""
    extra = torch.randn(2, num_extra_rows, config.text_config.hidden_size, generator=torch.Generator().manual_seed(1))
    extra = extra.to(tensors["lm_head.weight"].dtype)
    embedding = torch.cat([tensors["model.text_model.embed_tokens.weight"], extra[0]])
    head = torch.cat([tensors["lm_head.weight"], extra[1]])
    for rank in range(num_ranks):

        def rows(tensor: torch.Tensor, rank: int = rank) -> torch.Tensor:
            size = tensor.shape[0] // num_ranks
            return tensor[rank * size : (rank + 1) * size].clone()

        def columns(tensor: torch.Tensor, rank: int = rank) -> torch.Tensor:
            size = tensor.shape[1] // num_ranks
            return tensor[:, rank * size : (rank + 1) * size].clone()

        language_model = {
            "embedding": {"word_embeddings": {"weight": rows(embedding)}},
            "encoder": _encoder(tensors, config, rank, num_ranks, rows, columns, trained),
            "vision_model": _vision(tensors, config, rank, num_ranks, rows, columns),
            "perceiver": _perceiver(tensors, config, rank, num_ranks, rows, columns),
            "output_layer": {"weight": rows(head)},
        }
        content: dict[str, Any] = {"checkpoint_version": 3.0, "model": {"language_model": language_model}}
        content["args"] = argparse.Namespace(
            tensor_model_parallel_size=num_ranks, pipeline_model_parallel_size=1, params_dtype=embedding.dtype
        )
        if trained:
            from megatron.core.enums import ModelType

            content["args"].model_type = ModelType.encoder_or_decoder
            content["iteration"] = 300
            content["optimizer"] = {"state": {0: {"exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 1e-5}]}
            content["rng_state"] = [{"np_rng_state": np.random.get_state(), "torch_rng_state": torch.get_rng_state()}]
            language_model["vision_model"]["transformer.layers.0.self_attention._extra_state"] = io.BytesIO(b"fp8")
        else:
            content["model"]["word_embeddings_for_head"] = {"weight": rows(embedding)}
            content["model"]["lm_head"] = {"weight": rows(head)}
        name = f"mp_rank_{rank:02d}_000" if trained else f"mp_rank_{rank:02d}"
        (folder / name).mkdir(parents=True)
        torch.save(content, folder / name / "model_optim_rng.pt")
        (folder / name / "distrib_optim.pt").write_bytes(b"not for us")


Cut = Callable[[torch.Tensor], torch.Tensor]


def _encoder(
    tensors: Tensors, config: Any, rank: int, num_ranks: int, rows: Cut, columns: Cut, trained: bool
) -> Tensors:
    text = config.text_config
    groups, size = text.num_key_value_heads, text.head_dim
    per_group = text.num_attention_heads // groups
    names = ("input_norm", "post_attention_norm", "final_norm")
    names = names if trained else ("input_layernorm", "post_attention_layernorm", "final_layernorm")
    found = {f"{names[2]}.weight": tensors["model.text_model.norm.weight"]}
    for layer in range(text.num_hidden_layers):
        here, there = f"layers.{layer}.", f"model.text_model.layers.{layer}."
        q, k, v = (tensors[f"{there}self_attn.{x}_proj.weight"] for x in "qkv")
        parts = []
        for group in range(rank * groups // num_ranks, (rank + 1) * groups // num_ranks):
            parts += [q[head * size : (head + 1) * size] for head in range(group * per_group, (group + 1) * per_group)]
            parts += [k[group * size : (group + 1) * size], v[group * size : (group + 1) * size]]
        found[f"{here}self_attention.query_key_value.weight"] = torch.cat(parts)
        found[f"{here}self_attention.dense.weight"] = columns(tensors[f"{there}self_attn.o_proj.weight"])
        gate, up = (rows(tensors[f"{there}mlp.{x}_proj.weight"]) for x in ("gate", "up"))
        found[f"{here}mlp.dense_h_to_4h.weight"] = torch.cat([gate, up])
        found[f"{here}mlp.dense_4h_to_h.weight"] = columns(tensors[f"{there}mlp.down_proj.weight"])
        found[f"{here}{names[0]}.weight"] = tensors[f"{there}input_layernorm.weight"]
        found[f"{here}{names[1]}.weight"] = tensors[f"{there}post_attention_layernorm.weight"]
    return found


def _vision(tensors: Tensors, config: Any, rank: int, num_ranks: int, rows: Cut, columns: Cut) -> Tensors:
    vision, start = config.vision_config, "model.vision_model."
    heads = vision.num_attention_heads
    size = vision.hidden_size // heads
    found = {"position_embeddings.weight": tensors[f"{start}embeddings.position_embedding.weight"]}
    for kind in ("weight", "bias"):
        found[f"conv1.{kind}"] = tensors[f"{start}embeddings.patch_embedding.{kind}"]
        found[f"ln_post.{kind}"] = tensors[f"{start}post_layernorm.{kind}"]
        for layer in range(vision.num_hidden_layers):
            here, there = f"transformer.layers.{layer}.", f"{start}encoder.layers.{layer}."
            qkv = [tensors[f"{there}self_attn.{x}_proj.{kind}"] for x in "qkv"]
            mine = range(rank * heads // num_ranks, (rank + 1) * heads // num_ranks)
            parts = [part[head * size : (head + 1) * size] for head in mine for part in qkv]
            found[f"{here}self_attention.linear_qkv.{kind}"] = torch.cat(parts)
            found[f"{here}self_attention.linear_qkv.layer_norm_{kind}"] = tensors[f"{there}layer_norm1.{kind}"]
            across = columns if kind == "weight" else torch.clone
            found[f"{here}self_attention.linear_proj.{kind}"] = across(tensors[f"{there}self_attn.out_proj.{kind}"])
            found[f"{here}mlp.linear_fc1.{kind}"] = rows(tensors[f"{there}mlp.fc1.{kind}"])
            found[f"{here}mlp.linear_fc1.layer_norm_{kind}"] = tensors[f"{there}layer_norm2.{kind}"]
            found[f"{here}mlp.linear_fc2.{kind}"] = across(tensors[f"{there}mlp.fc2.{kind}"])
    return found


def _perceiver(tensors: Tensors, config: Any, rank: int, num_ranks: int, rows: Cut, columns: Cut) -> Tensors:
    perceiver, start = config.perceiver_config, "model.connector.perceiver_resampler."
    heads, kv_heads, size = perceiver.resampler_n_heads, perceiver.num_key_value_heads, perceiver.resampler_head_dim
    projection = "model.connector.modality_projection."
    found = {
        "latents": tensors[f"{start}latents"],
        "final_layernorm.weight": tensors[f"{start}norm.weight"],
        "modality_projection.dense_h_to_4h.weight": torch.cat(
            [rows(tensors[f"{projection}{x}_proj.weight"]) for x in ("gate", "up")]
        ),
        "modality_projection.dense_4h_to_h.weight": columns(tensors[f"{projection}down_proj.weight"]),
    }
    for layer in range(perceiver.resampler_depth):
        here, there = f"layers.{layer}.", f"{start}layers.{layer}."
        for name in ("input_latents_norm", "input_context_norm", "post_attention_layernorm"):
            found[f"{here}{name}.weight"] = tensors[f"{there}{name}.weight"]
        found[f"{here}self_attention.query.weight"] = rows(tensors[f"{there}self_attn.q_proj.weight"])
        k, v = (tensors[f"{there}self_attn.{x}_proj.weight"] for x in "kv")
        parts = []
        for head in range(rank * heads // num_ranks, (rank + 1) * heads // num_ranks):
            source = head * kv_heads // heads
            parts += [part[source * size : (source + 1) * size] for part in (k, v)]
        found[f"{here}self_attention.key_value.weight"] = torch.cat(parts)
        found[f"{here}self_attention.dense.weight"] = columns(tensors[f"{there}self_attn.o_proj.weight"])
        gate_up = [rows(tensors[f"{there}mlp.{x}_proj.weight"]) for x in ("gate", "up")]
        found[f"{here}mlp.dense_h_to_4h.weight"] = torch.cat(gate_up)
        found[f"{here}mlp.dense_4h_to_h.weight"] = columns(tensors[f"{there}mlp.down_proj.weight"])
    return found
