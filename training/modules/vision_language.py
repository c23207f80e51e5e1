"""A vision-language model on megatron-core: what all families have in common.

The vision tower and the connector are Hugging Face modules, whole on every rank of the first pipeline stage; each of
the ranks that work on a sequence together (tensor and context parallel) encodes its share of a micro-batch's images,
and the features are gathered. The language model is Megatron's `GPTModel`, cut by every kind of parallelism.
"""

import contextlib
from typing import Any

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.transformer.enums import ModelType
from megatron.core.transformer.module import MegatronModule
from transformers.initialization import no_init_weights

from models.registry import family_of
from training.layout import Layout
from training.modules import kernels
from training.modules.batching import NO_IMAGES, Images, Pixels
from training.modules.collectives import AllGather
from training.modules.deepstack import add_behind
from training.modules.language.context_parallel import local_positions
from training.modules.language.form import transformer_config
from training.modules.language.model import LanguageModel
from training.modules.language.packed import PackedSamples
from training.modules.language.rotary import hold_in_fp32
from training.modules.marks import mark
from training.modules.trainable import Trainable


class VisionLanguageModel(MegatronModule):
    """This rank's part of a model, or one chunk of it. Weights are uninitialized: load a checkpoint.

    `models/<family>/family.py` names the modules of its vision side; a subclass builds them and says how they make
    features of pixels.
    """

    def __init__(self, hf: Any, layout: Layout, trainable: Trainable, vp_stage: int | None = None) -> None:
        self.kernels = kernels.chosen(hf, layout, trainable.lora is not None)
        config = transformer_config(hf, layout, self.kernels)
        super().__init__(config)
        self.hf, self.trainable, self.vp_stage = hf, trainable, vp_stage
        kind = family_of(hf)
        self.tower_names, self.connector_names = kind.tower_names, kind.connector_names
        self.model_type = ModelType.encoder_or_decoder
        self.pre_process = parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=vp_stage)
        self.post_process = parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=vp_stage)
        self.share_embeddings_and_output_weights = hf.tie_word_embeddings
        if self.pre_process:
            with no_init_weights():
                self.build_vision(hf)
            self._prepare_vision(layout)
            for part in self.vision_modules():
                hold_in_fp32(part, torch.cuda.current_device())
        self.language_model = LanguageModel(
            hf, config, trainable, self.kernels, self.pre_process, self.post_process, vp_stage
        )
        if self.pre_process:
            first = self.language_model.decoder.layers[: kind.num_deepstack(hf)]
            add_behind(first, learns=trainable.vision or trainable.connector)
        self.to(torch.cuda.current_device(), config.params_dtype)  # Hugging Face's parts come in the checkpoint's own

    def build_vision(self, hf: Any) -> None:
        """Set the modules that the family names."""
        raise NotImplementedError

    def blank_pixels(self, device: Any) -> Pixels:
        """The smallest unit there is."""
        raise NotImplementedError

    def run_tower(self, pixels: Pixels) -> torch.Tensor:
        """[n, patches, hidden of the tower]."""
        raise NotImplementedError

    def run_connector(self, hidden: torch.Tensor, pixels: Pixels) -> torch.Tensor:
        """[n, features of a unit, h]."""
        raise NotImplementedError

    def marks(self, tokens: torch.Tensor) -> torch.Tensor:
        """Which of `tokens` are marks of image features: [b, s] -> [b, s] bool."""
        return tokens == self.hf.image_token_id

    def assemble(self, units: torch.Tensor, image_sizes: torch.Tensor) -> torch.Tensor:
        """All units' features [n, features of a unit, h] -> the images' [features, h], in the order of `<image>`s."""
        return units.flatten(0, 1)

    def vision_modules(self) -> list[torch.nn.Module]:
        """Tower and connector; none but on the first pipeline stage."""
        names = (*self.tower_names, *self.connector_names)
        return [part for name in names if isinstance(part := getattr(self, name, None), torch.nn.Module)]

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
        images: Images = NO_IMAGES,
        segment_lengths: tuple[int, ...] | None = None,
        is_feature: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        num_read: int | None = None,
        temperatures: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """
        Args:
            tokens: [b, s], whole on every rank; s a multiple of `Layout.sequence_multiple`. Padded on the right.
            labels: [b, s], already shifted; `IGNORE` where no loss is wanted. None asks for logits.
            segment_lengths: of the samples packed into the one row of `tokens`, s in all; each attends to itself only
                and counts its positions from 0. With context parallelism multiples of twice its size.
            is_feature: [b, s] bool, where image features stand (`ImageEncoder.is_feature`); None: at every mark.
            position_ids: [rows, b, s] of a family whose tokens do not count (`ImageEncoder.position_ids`), for the
                embedding of `language/rotary.py`; Megatron's plain one counts whatever they say. None: they count.
            num_read: how many positions at the end of the rows hold all labels; the last layer need not be computed
                before them. None: nothing is known.
            temperatures: [b, s], what divides the logits before the cross entropy; None: nothing.

        Returns:
            On the last pipeline stage the cross entropy [b, s] in fp32, of a critic its heads' log(V / (1 - V))
            [b, s, heads], 0 at `IGNORE` and at what other context-parallel ranks hold; or without labels this rank's
            part of the logits [b, s / CP, vocabulary / TP]. On other stages the hidden states [s / CP (/ TP), b, h].
        """
        group = parallel_state.get_context_parallel_group()
        held = local_positions(segment_lengths or (tokens.size(1),), group.rank(), group.size(), tokens.device)
        packed = PackedSamples.of(segment_lengths, tokens.device) if segment_lengths else None
        is_feature = self.marks(tokens) if is_feature is None else is_feature
        embeddings, deepstack = self._embed(tokens, images, is_feature, held) if self.pre_process else (None, None)
        own_labels = None if labels is None else labels.index_select(1, held)
        if self.config.mrope_section and position_ids is None:
            position_ids = torch.arange(tokens.size(1), device=tokens.device).expand(3, *tokens.shape)
        if position_ids is not None and packed is None:  # of packed rows Megatron takes what a rank holds itself
            position_ids = position_ids.index_select(-1, held)
        output = self.language_model(
            *(tokens, position_ids, None),
            decoder_input=embeddings,
            labels=own_labels,
            num_read=num_read,
            temperatures=None if temperatures is None else temperatures.index_select(1, held),
            packed_seq_params=packed,
            extra_block_kwargs=None if deepstack is None else {"context": deepstack},
        )
        if labels is None or not self.post_process or group.size() == 1:
            return output
        return output.new_zeros(*labels.shape, *output.shape[2:]).index_copy(1, held, output)

    def _embed(
        self, tokens: torch.Tensor, images: Images, is_feature: torch.Tensor, held: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Text and image features of the positions this rank holds: [s / CP (/ TP), b, h]; and what is added to them
        behind the first layers, [layers, s / CP (/ TP), b, h], where there is such a thing."""
        embeddings = self.language_model.embedding(tokens, None).transpose(0, 1)  # [b, s, h]
        features = self._encode(images).to(embeddings.dtype)  # [features, h * (1 + deepstack)]
        own, *later = features.split(embeddings.size(-1), dim=-1)
        where = is_feature.unsqueeze(-1)
        deepstack = None
        if later and len(own):
            empty = torch.zeros_like(embeddings)
            deepstack = torch.stack([self._held(empty.masked_scatter(where, one), held) for one in later])
        embeddings = self._held(embeddings.masked_scatter(where, own), held)
        if torch.is_grad_enabled() and not embeddings.requires_grad:
            embeddings = embeddings.detach().requires_grad_()  # recomputed layers pass gradients on to this only
        # One row transposed is contiguous whatever its strides say, but `matmul` obeys them, and multiplies frozen
        # weights with one position at a time, in every layer.
        return embeddings.contiguous().view(embeddings.shape), deepstack

    def _held(self, hidden: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
        """[b, s, h] -> [s / CP (/ TP), b, h]: the positions `held` by this rank."""
        hidden = hidden.transpose(0, 1)
        if held.numel() < hidden.size(0):
            hidden = hidden.index_select(0, held)
        if self.config.sequence_parallel:
            hidden = tensor_parallel.scatter_to_sequence_parallel_region(hidden.contiguous())
        return hidden

    def _encode(self, images: Images) -> torch.Tensor:
        """The features of all images of the micro-batch, in order: [features, h * (1 + deepstack)].

        A rank without a unit encodes a blank one, whose features land in the padding of the gather: so every
        parameter takes part in every backward pass.
        """
        device = torch.cuda.current_device()
        pixels = images.pixels if images.pixels is not None else self.blank_pixels(device)
        with torch.no_grad() if not self.trainable.vision else contextlib.nullcontext():
            hidden = self.run_tower(pixels)
        return self.gather(self.run_connector(hidden, pixels), images)

    def gather(self, units: torch.Tensor, images: Images) -> torch.Tensor:
        """This rank's units [n, features of a unit, h] -> the features of all images, in order: [features, h]."""
        group = parallel_state.get_tensor_and_context_parallel_group()
        share = max(1, -(-images.num_units // group.size()))
        padding = units.new_zeros(share - units.size(0), *units.shape[1:])
        # Tensor-parallel ranks hold equal gradients of the gathered features, context-parallel ranks parts of them. The
        # backward pass sums both; the averages that Megatron takes of parameter gradients undo the equal copies.
        gathered = AllGather.apply(torch.cat([units, padding]), group)  # [share * ranks, features of a unit, h]
        return self.assemble(gathered[: images.num_units], images.sizes)

    def _prepare_vision(self, layout: Layout) -> None:
        """Which parameters learn; their gradients differ by rank, since each saw its own images, and are averaged."""
        for names, learns in (
            (self.tower_names, self.trainable.vision),
            (self.connector_names, self.trainable.connector),
        ):
            for part in (getattr(self, name) for name in names):
                parameters = [part] if isinstance(part, torch.nn.Parameter) else list(part.parameters())
                for parameter in parameters:
                    parameter.requires_grad_(learns and parameter.requires_grad)
                    mark(parameter, average_gradients_across_tp_domain=True)
        if layout.recompute == "full" and self.trainable.vision:
            for name in self.tower_names:
                getattr(self, name).gradient_checkpointing_enable({"use_reentrant": False})
