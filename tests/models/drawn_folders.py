"""Checkpoint folders as people make them: a tiny model's, and what was done to its files, drawn from a seed."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from tests.tiny import text_only

Weights = dict[str, torch.Tensor]
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def edit(folder: Path, **fields: Any) -> None:
    """Write these fields into config.json."""
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, **fields}))


def weights_of(folder: Path) -> Weights:
    """Those of model.safetensors."""
    return load_file(folder / "model.safetensors")


def rewrite(folder: Path, weights: Weights) -> None:
    """As the one file model.safetensors."""
    save_file({name: one.contiguous() for name, one in weights.items()}, folder / "model.safetensors", {"format": "pt"})


def shard(folder: Path, weights: Weights, count: int, suffix: str = "safetensors") -> list[Path]:
    """As `count` files and their index; returns the files."""
    stem, names = {"safetensors": "model", "bin": "pytorch_model"}[suffix], sorted(weights)
    files, index = [], {}
    for number in range(count):
        part = {name: weights[name].contiguous() for name in names[number::count]}
        files.append(folder / f"{stem}-{number + 1:05d}-of-{count:05d}.{suffix}")
        if suffix == "bin":
            torch.save(part, files[-1])
        else:
            save_file(part, files[-1], {"format": "pt"})
        index |= dict.fromkeys(part, files[-1].name)
    content = {"metadata": {"total_size": 1}, "weight_map": index}
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps(content))
    return files


def only_shards(folder: Path, rng: random.Random, suffix: str = "safetensors") -> list[Path]:
    """In place of model.safetensors."""
    weights = weights_of(folder)
    (folder / "model.safetensors").unlink()
    return shard(folder, weights, rng.randint(2, 4), suffix)


def _changed(folder: Path, change: Callable[[Weights], Any]) -> None:
    weights = weights_of(folder)
    change(weights)
    rewrite(folder, weights)


def _projection(rng: random.Random) -> str:
    module = rng.choice(("self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj"))
    return f"model.layers.{rng.randrange(2)}.{module}.weight"


def _any(folder: Path, rng: random.Random) -> str:
    return rng.choice(sorted(weights_of(folder)))


def _bin(folder: Path, rng: random.Random) -> None:
    torch.save(weights_of(folder), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _bin_beside(folder: Path, rng: random.Random) -> None:
    torch.save({name: one + 1 for name, one in weights_of(folder).items()}, folder / "pytorch_model.bin")


def _stale_index(folder: Path, rng: random.Random) -> None:
    shard(folder, {name: one + 1 for name, one in weights_of(folder).items()}, rng.randint(1, 3))


def _index_of_files_gone(folder: Path, rng: random.Random) -> None:
    for file in shard(folder, weights_of(folder), 2):
        file.unlink()


def _shards_without_index(folder: Path, rng: random.Random) -> None:
    only_shards(folder, rng)
    (folder / "model.safetensors.index.json").unlink()


def _shard_gone(folder: Path, rng: random.Random) -> None:
    rng.choice(only_shards(folder, rng)).unlink()


def _shard_cut(folder: Path, rng: random.Random) -> None:
    file = rng.choice(only_shards(folder, rng))
    file.write_bytes(file.read_bytes()[: -rng.randint(1, 500)])


def _pointer(folder: Path, rng: random.Random) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")


def _doubled(folder: Path, rng: random.Random) -> None:
    one, other = only_shards(folder, rng)[:2]
    weights = load_file(one)
    name, tensor = sorted(weights.items())[0]
    save_file({**load_file(other), name: tensor + 1}, other, {"format": "pt"})


def _index_says_too_much(folder: Path, rng: random.Random) -> None:
    file = only_shards(folder, rng)[0]
    weights = load_file(file)
    weights.pop(sorted(weights)[0])
    save_file(weights, file, {"format": "pt"})


def _other_files(folder: Path, rng: random.Random) -> None:
    for name in ("consolidated.safetensors", "model.fp16.safetensors"):
        save_file({"x": torch.zeros(2)}, folder / name)


def _only_variant(folder: Path, rng: random.Random) -> None:
    (folder / "model.safetensors").rename(folder / rng.choice(("model.fp16.safetensors", "consolidated.safetensors")))


def _dropped(folder: Path, rng: random.Random) -> None:
    name = _any(folder, rng)
    _changed(folder, lambda weights: weights.pop(name))


def _renamed(folder: Path, rng: random.Random) -> None:
    name = _any(folder, rng)
    other = rng.choice((f"transformer.{name}", name.replace("weight", "w"), f"module.{name}"))
    _changed(folder, lambda weights: weights.update({other: weights.pop(name)}))


def _extra(folder: Path, rng: random.Random) -> None:
    name = rng.choice(
        ("model.layers.7.mlp.up_proj.weight", "model.layers.0.self_attn.o_proj.bias", "value_head.weight")
    )
    _changed(folder, lambda weights: weights.update({name: torch.zeros(64)}))


def _buffers(folder: Path, rng: random.Random) -> None:
    name = f"model.layers.{rng.randrange(2)}.self_attn.rotary_emb.inv_freq"
    _changed(folder, lambda weights: weights.update({name: torch.arange(8.0)}))


def _rows(folder: Path, rng: random.Random) -> None:
    count, names = rng.choice((-64, -7, -1, 1, 8)), rng.choice(((EMBEDDING,), (HEAD,), (EMBEDDING, HEAD)))

    def change(weights: Weights) -> None:
        for name in names:
            rows = weights[name]
            weights[name] = rows[:count] if count < 0 else torch.cat([rows, rows[:count]])

    _changed(folder, change)


def _wrong_shape(folder: Path, rng: random.Random) -> None:
    name, way = _projection(rng), rng.randrange(3)

    def change(weights: Weights) -> None:
        one = weights[name]
        weights[name] = (one[:-1], one.unsqueeze(0), one.reshape(one.size(0) // 2, -1))[way]

    _changed(folder, change)


def _layers(folder: Path, rng: random.Random) -> None:
    count = rng.choice((1, 3))
    edit(folder, num_hidden_layers=count, layer_types=["full_attention"] * rng.choice((2, count)))


def _sizes(folder: Path, rng: random.Random) -> None:
    edit(folder, **rng.choice(({"intermediate_size": 96}, {"num_key_value_heads": 4}, {"vocab_size": 513})))


def _tied(folder: Path, rng: random.Random) -> None:
    _changed(folder, lambda weights: weights.pop(HEAD))
    edit(folder, tie_word_embeddings=True)


def _tied_with_copy(folder: Path, rng: random.Random) -> None:
    _changed(folder, lambda weights: weights.update({HEAD: weights[EMBEDDING].clone()}))
    edit(folder, tie_word_embeddings=True)


def _tied_but_other(folder: Path, rng: random.Random) -> None:
    edit(folder, tie_word_embeddings=True)


def _half(folder: Path, rng: random.Random) -> None:
    dtype, share = rng.choice((torch.bfloat16, torch.float16)), rng.choice((0.5, 1))

    def change(weights: Weights) -> None:
        for name in weights:
            if rng.random() < share:
                weights[name] = weights[name].to(dtype)

    _changed(folder, change)


def _low_bits(folder: Path, rng: random.Random) -> None:
    dtype = rng.choice((torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8))
    _changed(
        folder, lambda weights: weights.update({name: weights[name].to(dtype) for name in weights if "_proj" in name})
    )


def _quantized_parts(folder: Path, rng: random.Random) -> None:
    name = _projection(rng)
    stem = name.removesuffix(".weight")
    parts = rng.choice((("qweight", "qzeros", "scales"), ("weight", "SCB"), ("weight", "weight_scale")))

    def change(weights: Weights) -> None:
        weight = weights.pop(name)
        weights.update({f"{stem}.{part}": torch.ones(4) for part in parts})
        if "weight" in parts:
            weights[name] = weight

    _changed(folder, change)


def _quantized_by_config(folder: Path, rng: random.Random) -> None:
    edit(folder, quantization_config={"quant_method": rng.choice(("fp8", "awq", "gptq", "bitsandbytes", "torchao"))})


def _quantized_by_file(folder: Path, rng: random.Random) -> None:
    (folder / rng.choice(("hf_quant_config.json", "quantize_config.json", "quant_config.json"))).write_text("{}")


def _adapter_inside(folder: Path, rng: random.Random) -> None:
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8}))


def _nothing(folder: Path, rng: random.Random) -> None:
    (folder / "model.safetensors").unlink()


CHANGES: dict[str, Callable[[Path, random.Random], Any]] = {
    change.__name__.strip("_"): change
    for change in (
        *(only_shards, _bin, _bin_beside, _stale_index, _index_of_files_gone, _shards_without_index, _shard_gone),
        *(
            _shard_cut,
            _pointer,
            _doubled,
            _index_says_too_much,
            _other_files,
            _only_variant,
            _dropped,
            _renamed,
            _extra,
        ),
        *(_buffers, _rows, _wrong_shape, _layers, _sizes, _tied, _tied_with_copy, _tied_but_other, _half, _low_bits),
        *(_quantized_parts, _quantized_by_config, _quantized_by_file, _adapter_inside, _nothing),
    )
}


def draw(folder: Path, seed: int) -> tuple[str, ...]:
    """Write one to `folder`; returns what was done to it. Every change comes first once before it is drawn freely."""
    rng = random.Random(seed)
    text_only.build_policy(folder, ("llama", "qwen3", "qwen2")[seed % 3], layers=2)
    names = [list(CHANGES)[seed % len(CHANGES)]]
    before = [name for name in ("half", "buffers", "tied", "other_files", "layers") if rng.random() < 0.15]
    names = [*(name for name in before if name not in names), *names]
    for name in names:
        try:
            CHANGES[name](folder, rng)
        except KeyError:  # what an earlier change took away
            continue
    return tuple(names)
