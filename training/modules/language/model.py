"""The language model: Megatron's `GPTModel`, with the loss or the values taken only where there is a label."""

from typing import Any

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.models.gpt import GPTModel
from megatron.core.transformer.transformer_config import TransformerConfig

from models.language import rotary_share
from models.registry import family_of
from models.weight_table import padded_vocab_size
from training.modules.batching import IGNORE
from training.modules.kernels import Kernels
from training.modules.language import last_layer
from training.modules.language.layers import layer_spec
from training.modules.language.rotary import MultimodalRotary, frequencies
from training.modules.language.value_heads import CUT, ValueHeads
from training.modules.marks import mark
from training.modules.trainable import Trainable

_CUT = (
    *("word_embeddings.weight", "output_layer.weight"),
    *("linear_qkv.weight", "linear_qkv.bias", "linear_qkv.lora_b", "linear_fc1.weight", "linear_fc1.lora_b"),
    *("linear_proj.weight", "linear_proj.lora_a", "linear_fc2.weight", "linear_fc2.lora_a"),
    *CUT,
)
"""Parameters of which every tensor-parallel rank holds a part."""


class LanguageModel(GPTModel):
    """`GPTModel` that computes logits only where there is a label, and never for the rows that pad the vocabulary.

    `num_read`, given with labels: that many positions at the end of the rows hold all of them, and the last layer is
    computed there alone, where the layout allows it.
    """

    def __init__(
        self,
        hf: Any,
        config: TransformerConfig,
        trainable: Trainable,
        kernels: Kernels,
        pre_process: bool,
        post_process: bool,
        vp_stage: int | None,
    ) -> None:
        text, deepstack = hf.get_text_config(), family_of(hf).num_deepstack(hf)
        cuts_last = post_process and last_layer.may_be_cut(config, kernels) and deepstack < text.num_hidden_layers
        super().__init__(
            config,
            layer_spec(config, vp_stage, trainable.lora, kernels, cuts_last),
            vocab_size=padded_vocab_size(text.vocab_size, config.tensor_model_parallel_size),
            max_sequence_length=text.max_position_embeddings,
            pre_process=pre_process,
            post_process=post_process,
            share_embeddings_and_output_weights=hf.tie_word_embeddings,
            position_embedding_type="mrope" if config.mrope_section else "rope",
            rotary_base=text.rope_parameters["rope_theta"],
            rotary_percent=rotary_share(text),
            scatter_embedding_sequence_parallel=False,
            vp_stage=vp_stage,
        )
        if config.mrope_section:
            how = family_of(hf).mrope
            assert how is not None
            self.rotary_pos_emb = MultimodalRotary(
                text.head_dim, text.rope_parameters["rope_theta"], config.mrope_section, how
            )
        elif text.rope_parameters.get("rope_type", "default") != "default":
            self.rotary_pos_emb.inv_freq = frequencies(text)  # Megatron's own scaling has other values fixed
        self._cuts_last = cuts_last
        self._temperatures: torch.Tensor | None = None
        self.num_real_tokens = text.vocab_size
        names = trainable.value_heads
        self.value_heads: torch.nn.Module | None = ValueHeads(config, names) if names and post_process else None
        for module in (getattr(self, "embedding", None), getattr(self, "output_layer", None)):
            for parameter in module.parameters() if module is not None else ():
                parameter.data.zero_()  # a checkpoint may have fewer padding rows than this layout
        for name, parameter in self.named_parameters():
            learns = ".lora_" in name if trainable.lora else trainable.language
            unused = bool(names) and name.startswith("output_layer.") and not self.share_embeddings_and_output_weights
            parameter.requires_grad_(name.startswith("value_heads.") or (learns and not unused))
            # Megatron marks what it cuts where it draws initial weights, which are never drawn here; without the mark
            # the norm of the gradient misses every rank's part but the first's.
            mark(parameter, tensor_model_parallel=name.endswith(_CUT))

    def forward(
        self,
        *args: Any,
        labels: torch.Tensor | None = None,
        num_read: int | None = None,
        temperatures: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        self._temperatures = temperatures
        if self._cuts_last:
            self.decoder.layers[-1].self_attention.num_read = None if labels is None else num_read
        return super().forward(*args, labels=labels, **kwargs)

    def _postprocess(
        self, hidden_states: torch.Tensor, *args: object, labels: torch.Tensor | None = None, **kwargs: object
    ) -> torch.Tensor:
        if not self.post_process:
            return hidden_states
        if self.config.sequence_parallel:
            hidden_states = tensor_parallel.gather_from_sequence_parallel_region(
                hidden_states, tensor_parallel_output_grad=False
            )
        hidden_states = hidden_states.transpose(0, 1)  # [b, s, h]
        if labels is None:
            return self._logits(hidden_states)
        labeled = labels != IGNORE
        hidden_states = hidden_states[labeled[:, -hidden_states.size(1) :]]
        if self.value_heads is not None:
            values = self._with_tied_copy(self.value_heads(hidden_states))
            return values.new_zeros(*labels.shape, values.size(-1)).masked_scatter(labeled.unsqueeze(-1), values)
        logits = self._logits(hidden_states)
        if self._temperatures is not None:
            logits.div_(self._temperatures[labeled].unsqueeze(-1))  # in place: whole rows of the vocabulary
        losses = tensor_parallel.vocab_parallel_cross_entropy(logits, labels[labeled])
        return torch.zeros(labels.shape, device=labels.device).masked_scatter(labeled, losses)

    def _with_tied_copy(self, values: torch.Tensor) -> torch.Tensor:
        """`values`, with a gradient of 0 for the last stage's copy of tied embeddings: overlapped reductions wait for
        every parameter's, and Megatron sums the copy's with the first stage's."""
        copied = self.share_embeddings_and_output_weights and not self.pre_process
        return values + 0 * self.output_layer.weight[0, 0] if copied else values

    def _logits(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """This rank's columns of the logits in fp32, -inf for padding rows: [..., h] -> [..., vocabulary / TP]."""
        weight = self.shared_embedding_or_output_weight() if self.share_embeddings_and_output_weights else None
        self.output_layer.sequence_parallel = False  # the sequence is whole already
        logits = self.output_layer(hidden_states, weight=weight)[0].float()
        num_columns = logits.size(-1)
        num_real = self.num_real_tokens - parallel_state.get_tensor_model_parallel_rank() * num_columns
        if num_real < num_columns:
            logits[..., max(0, num_real) :] = -torch.inf
        return logits
