"""Make a Qwen3-VL that reads pages of an Idefics2 that does; `pretrain.py` goes on from there:

    python examples/quickstart/starting_policy/transplant.py --idefics2 FOLDER --output_dir FOLDER

Its language model is the Idefics2's, weight by weight. What differs between the two is the attention: Mistral's scores
are large where queries and keys are long, and Qwen3 brings these to one length, the same in all heads of a layer. So
each head gets more rows, and one of them fills its length up to that of the layer's longest head: the linear function
of the hidden states that does so best. Its norm weight is 0, so that it is in no score. The vision side is new: it
first says of everything that there is nothing to see, then `seeing` teaches it.
"""

import dataclasses
import random
from pathlib import Path

import qwen3_vl
import torch
from corpus import make_example
from pretrain import Batches, load
from seeing import learn_to_see, start_vision
from torch import Tensor, nn
from transformers import (
    Idefics2ForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3VLForConditionalGeneration,
)

from common import cli
from models.qwen3_vl.processor import Qwen3VLProcessor

PAGE_TOKENS = 4_000  # whose hidden states are read; 12,000 were no better
MAX_ELEMENTS, MAX_LINKS = 40, 6


@dataclasses.dataclass(frozen=True)
class Config:
    """Flags of the recipe."""

    output_dir: Path
    """Where the Hugging Face folder is written."""
    idefics2: Path = Path(__file__).parent / "weights"
    """The starting policy whose language model is taken over."""
    seeing_minutes: float = 12.0
    """Time in which the new vision side learns to name what it sees."""
    seed: int = 0
    """Seed of new weights and of pages."""


def transplant(
    old: Idefics2ForConditionalGeneration, batches: Batches
) -> tuple[Qwen3VLForConditionalGeneration, Qwen3VLProcessor]:
    """A Qwen3-VL with the language model of `old`, of whose own pages are `batches`, and its processor."""
    tokenizer = qwen3_vl.make_tokenizer(batches.processor.tokenizer)
    model = qwen3_vl.make_model(old.config, tokenizer)
    hidden = _read_pages(old, batches)
    with torch.no_grad():
        _take_over(old.model.text_model, model.model.language_model, hidden)
        _embed(tokenizer, old.get_input_embeddings().weight, model.get_input_embeddings().weight)
        start_vision(model)
        _show_nothing(model)
    model.generation_config = old.generation_config  # ids are the same
    return model.eval(), qwen3_vl.make_processor(tokenizer)


@torch.no_grad()
def agreement(old: PreTrainedModel, new: PreTrainedModel, batches: Batches, num_examples: int) -> float:
    """Of the reply tokens that the Idefics2 gives more than 0.9: the share that both find likeliest. Both read the
    Idefics2's tokens, of which those of images stand for nothing seen."""
    same, held_out = list[Tensor](), random.Random(999)
    for _ in range(num_examples):
        batch = batches.collate([batches.encode(make_example(held_out, MAX_ELEMENTS, num_questions=0))])
        learned = batch["labels"][0, 1:] != -100
        theirs, ours = (model(input_ids=batch["input_ids"]).logits[0, :-1][learned].softmax(-1) for model in (old, new))
        same.append((theirs.argmax(-1) == ours.argmax(-1))[theirs.amax(-1) > 0.9])
    return torch.cat(same).float().mean().item()


@torch.no_grad()
def _read_pages(model: Idefics2ForConditionalGeneration, batches: Batches) -> list[Tensor]:
    """What goes into the attention of each layer, [tokens, hidden], on synthetic pages."""
    layers = model.model.text_model.layers
    seen: list[list[Tensor]] = [[] for _ in layers]
    hooks = [
        layer.input_layernorm.register_forward_hook(lambda _, __, output, into=into: into.append(output.flatten(0, 1)))
        for layer, into in zip(layers, seen, strict=True)
    ]
    while sum(map(len, seen[0])) < PAGE_TOKENS:
        batch = batches.draw(MAX_ELEMENTS, MAX_LINKS, num_tokens=1)  # one sample, no padding
        del batch["labels"]
        model.model(**batch, use_cache=False)
    for hook in hooks:
        hook.remove()
    return [torch.cat(parts) for parts in seen]


def _take_over(old: nn.Module, new: nn.Module, hidden: list[Tensor]) -> None:
    """The layers and the last norm of a `MistralModel` into a `Qwen3VLTextModel`."""
    new.norm.load_state_dict(old.norm.state_dict())
    for source, target, states in zip(old.layers, new.layers, hidden, strict=True):
        for name in ("input_layernorm", "post_attention_layernorm", "mlp"):
            getattr(target, name).load_state_dict(getattr(source, name).state_dict())
        heads = Heads(source.self_attn.head_dim, target.self_attn.head_dim)
        for projection in ("q_proj", "k_proj", "v_proj", "o_proj"):
            heads.copy(projection, source.self_attn, target.self_attn)
        heads.fill_up(source.self_attn.q_proj, target.self_attn.q_proj, target.self_attn.q_norm, states)
        heads.fill_up(source.self_attn.k_proj, target.self_attn.k_proj, target.self_attn.k_norm, states)


@dataclasses.dataclass(frozen=True)
class Heads:
    """Where the numbers of a head of width `old` stand in one of width `new`."""

    old: int
    new: int

    @property
    def kept(self) -> list[int]:
        """The rotary pairs, number i and the i-th behind the middle, stay pairs and the first ones."""
        return [place + half for half in (0, self.new // 2) for place in range(self.old // 2)]

    @property
    def filler(self) -> int:
        """What fills up the length of queries and keys: the first number that is new."""
        return self.old // 2

    def copy(self, projection: str, source: nn.Module, target: nn.Module) -> None:
        """New rows of queries and values are random; the keys and outputs that they meet are 0 until they learn."""
        axis = 1 if projection == "o_proj" else 0
        old, new = (getattr(attention, projection).weight.movedim(axis, 0) for attention in (source, target))
        if projection in ("k_proj", "o_proj"):
            new.zero_()
        new.unflatten(0, (-1, self.new))[:, self.kept] = old.unflatten(0, (-1, self.old))

    def fill_up(self, source: nn.Linear, target: nn.Linear, norm: nn.Module, hidden: Tensor) -> None:
        """Make normalized queries (or keys) of hidden states [tokens, hidden] as long as they were, but for a factor
        that keeps scores as they were under the new width's scale."""
        lengths = source(hidden).unflatten(1, (-1, self.old)).norm(dim=-1)  # [tokens, heads]
        missing = (lengths.mean(0).max() ** 2 - lengths**2).clamp(min=0).sqrt()
        rows = torch.linalg.lstsq(hidden, missing).solution
        target.weight.unflatten(0, (-1, self.new))[:, self.filler] = rows.T
        filled = (lengths**2 + (hidden @ rows) ** 2).sqrt()
        norm.weight.fill_((self.new / self.old) ** 0.25 / (self.new**0.5 * (1 / filled).mean()))
        norm.weight[self.filler] = 0.0


def _embed(tokenizer: PreTrainedTokenizerFast, old: Tensor, new: Tensor) -> None:
    new[: len(old)] = old
    for token, like in qwen3_vl.ADDED.items():
        new[tokenizer.convert_tokens_to_ids(token)] = new[tokenizer.convert_tokens_to_ids(like)]


def _show_nothing(model: PreTrainedModel) -> None:
    """Image tokens begin as what the Idefics2 sees where nothing is, and nothing is added to the decoder's layers."""
    tower = model.model.visual
    for merger in (tower.merger, *tower.deepstack_merger_list):
        merger.linear_fc2.weight.zero_()
        merger.linear_fc2.bias.zero_()
    tower.merger.linear_fc2.bias.copy_(model.get_input_embeddings().weight[model.config.image_token_id])


def main(config: Config) -> None:
    """Build, teach to see, save."""
    torch.manual_seed(config.seed)
    old, old_processor = load(config.idefics2)
    batches = Batches(old_processor, old.config, config.seed)
    model, processor = transplant(old.eval(), batches)
    print(f"the same token where the Idefics2 is sure: {agreement(old, model, batches, 16):.3f}", flush=True)
    if config.seeing_minutes:
        print(f"named right: {learn_to_see(model, processor, config.seeing_minutes):.2f}", flush=True)
    processor.save_pretrained(config.output_dir)
    model.to(torch.bfloat16).save_pretrained(config.output_dir)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
