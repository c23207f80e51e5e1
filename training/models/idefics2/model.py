"""idefics2 on megatron-core.

The vision tower and the connector are the Hugging Face modules, whole on every tensor-parallel rank of the first
pipeline stage; each of those ranks encodes its share of a micro-batch's images, and the features are gathered. The
language model is Megatron's `GPTModel`, cut by tensor and pipeline parallelism.
"""

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.models.gpt import GPTModel
from megatron.core.transformer.enums import ModelType
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_config import TransformerConfig
from transformers import Idefics2Config
from transformers.initialization import no_init_weights
from transformers.models.idefics2.modeling_idefics2 import Idefics2Connector, Idefics2VisionTransformer

from training.layout import Layout
from training.models.batching import IGNORE
from training.models.idefics2.config import tied_embeddings, transformer_config
from training.models.idefics2.weights import padded_vocab_size
from training.models.layers import layer_spec


class Idefics2(MegatronModule):
    """This rank's part of idefics2. Weights are uninitialised: load a checkpoint."""

    def __init__(self, hf: Idefics2Config, layout: Layout) -> None:
        config = transformer_config(hf, layout)
        super().__init__(config)
        self.model_type = ModelType.encoder_or_decoder
        self.image_token_id = hf.image_token_id
        self.patch_size = hf.vision_config.patch_size
        self.pre_process = parallel_state.is_pipeline_first_stage()
        self.post_process = parallel_state.is_pipeline_last_stage()
        self.share_embeddings_and_output_weights = tied_embeddings(hf)
        if self.pre_process:
            self.vision_model, self.connector = _vision_modules(hf, layout.recompute)
        self.language_model = LanguageModel(hf, config, self.pre_process, self.post_process)
        self.to(torch.cuda.current_device())

    def set_input_tensor(self, input_tensor: torch.Tensor | list[torch.Tensor]) -> None:
        """The hidden states [s, b, h] of the pipeline stage before; called by Megatron's schedules."""
        self.language_model.set_input_tensor(input_tensor[0] if isinstance(input_tensor, list) else input_tensor)

    def shared_embedding_or_output_weight(self) -> torch.Tensor:
        """The tied word embedding, whose gradient Megatron sums over the first and last pipeline stages."""
        return self.language_model.shared_embedding_or_output_weight()

    def forward(
        self,
        tokens: torch.Tensor,
        labels: torch.Tensor | None = None,
        pixel_values: torch.Tensor | None = None,
        patch_mask: torch.Tensor | None = None,
        num_images: int = 0,
    ) -> torch.Tensor:
        """
        Args:
            tokens: [b, s], padded on the right; s divides by the tensor-parallel size when sequences are split.
            labels: [b, s], already shifted; `IGNORE` where no loss is wanted. None asks for logits.
            pixel_values: [n, 3, height, width], this tensor-parallel rank's share (`image_share`) of the images.
            patch_mask: [n, height / patch, width / patch] bool, False where an image is padded.
            num_images: how many images the whole micro-batch has.

        Returns:
            On the last pipeline stage the cross entropy [b, s] in fp32 (0 at `IGNORE`), or without labels this rank's
            part of the logits [b, s, vocabulary / TP]; on other stages the hidden states [s, b, h].
        """
        position_ids = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        embeddings = None
        if self.pre_process:
            embeddings = self.language_model.embedding(tokens, position_ids)  # [s, b, h]
            features = self._encode_images(pixel_values, patch_mask, num_images)  # [num_images * latents, h]
            embeddings = _place_images(embeddings, tokens == self.image_token_id, features)
            if self.config.sequence_parallel:
                embeddings = tensor_parallel.scatter_to_sequence_parallel_region(embeddings)
        return self.language_model(tokens, position_ids, None, decoder_input=embeddings, labels=labels)

    def _encode_images(
        self, pixel_values: torch.Tensor | None, patch_mask: torch.Tensor | None, num_images: int
    ) -> torch.Tensor:
        """The latents of all images of the micro-batch, in order: [num_images * latents, h].

        A rank without an image encodes one blank patch, whose latents land in the padding of the gather: so every
        parameter takes part in every backward pass.
        """
        dtype = self.vision_model.post_layernorm.weight.dtype
        if pixel_values is None or pixel_values.size(0) == 0:
            pixel_values = torch.zeros(1, 3, self.patch_size, self.patch_size, device=torch.cuda.current_device())
            patch_mask = torch.ones(1, 1, 1, dtype=torch.bool, device=pixel_values.device)
        hidden = self.vision_model(pixel_values=pixel_values.to(dtype), patch_attention_mask=patch_mask)
        latents = self.connector(hidden.last_hidden_state, attention_mask=patch_mask.flatten(1))  # [n, latents, h]
        group = parallel_state.get_tensor_model_parallel_group()
        share = max(1, -(-num_images // group.size()))
        padding = latents.new_zeros(share - latents.size(0), *latents.shape[1:])
        latents = _GatherImages.apply(torch.cat([latents, padding]), group)  # [share * TP, latents, h]
        return latents[:num_images].flatten(0, 1)


class LanguageModel(GPTModel):
    """`GPTModel` that computes logits only where there is a label, and never for the rows that pad the vocabulary."""

    def __init__(self, hf: Idefics2Config, config: TransformerConfig, pre_process: bool, post_process: bool) -> None:
        text = hf.text_config
        super().__init__(
            config,
            layer_spec(config),
            vocab_size=padded_vocab_size(text.vocab_size, config.tensor_model_parallel_size),
            max_sequence_length=text.max_position_embeddings,
            pre_process=pre_process,
            post_process=post_process,
            share_embeddings_and_output_weights=tied_embeddings(hf),
            position_embedding_type="rope",
            rotary_base=text.rope_parameters["rope_theta"],
            scatter_embedding_sequence_parallel=False,
        )
        self.num_real_tokens = text.vocab_size
        for module in (getattr(self, "embedding", None), getattr(self, "output_layer", None)):
            for parameter in module.parameters() if module is not None else ():
                parameter.data.zero_()  # a checkpoint may have fewer padding rows than this layout

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
        labelled = labels != IGNORE
        losses = tensor_parallel.vocab_parallel_cross_entropy(self._logits(hidden_states[labelled]), labels[labelled])
        return torch.zeros(labels.shape, device=labels.device).masked_scatter(labelled, losses)

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


def _vision_modules(hf: Idefics2Config, recompute: bool) -> tuple[torch.nn.Module, torch.nn.Module]:
    """The Hugging Face tower and connector; their gradients differ by rank (each saw its images) and are averaged."""
    with no_init_weights():
        hf.vision_config._attn_implementation = hf.perceiver_config._attn_implementation = "sdpa"
        vision_model = Idefics2VisionTransformer(hf.vision_config)
        connector = Idefics2Connector(hf)
    if recompute:
        vision_model.activation_checkpointing_enable({"use_reentrant": False})
    for module in (vision_model, connector):
        for parameter in module.parameters():
            parameter.average_gradients_across_tp_domain = True
    return vision_model, connector


def _place_images(embeddings: torch.Tensor, is_image: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Put image features [n, h] where `is_image` [b, s] is True in `embeddings` [s, b, h]."""
    by_sample = embeddings.transpose(0, 1)
    return by_sample.masked_scatter(is_image.unsqueeze(-1), features.to(embeddings.dtype)).transpose(0, 1).contiguous()


class _GatherImages(torch.autograd.Function):
    """All-gather along the first axis over the tensor-parallel group.

    Every rank holds the whole gradient of the gathered features; the backward reduce-scatter sums those equal copies,
    and the average that Megatron takes of parameter gradients over the group undoes the factor: each image counts once.
    """

    @staticmethod
    def forward(context: torch.autograd.function.FunctionCtx, share: torch.Tensor, group: object) -> torch.Tensor:
        context.group = group
        gathered = share.new_empty(group.size() * share.size(0), *share.shape[1:])
        torch.distributed.all_gather_into_tensor(gathered, share.contiguous(), group=group)
        return gathered

    @staticmethod
    def backward(context: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        own = gradient.new_empty(gradient.size(0) // context.group.size(), *gradient.shape[1:])
        torch.distributed.reduce_scatter_tensor(own, gradient.contiguous(), group=context.group)
        return own, None
