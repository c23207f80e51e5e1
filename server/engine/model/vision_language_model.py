"""Vision-language model: a Hugging Face checkpoint folder as the few operations that the engine needs.

Image in, features out; the new tokens of all running sequences in, logits out. Works for every family of
`models/registry.py`: all of them put image features where their image tokens stand.
"""

import contextlib
import dataclasses
import importlib.util
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import BatchFeature, BitsAndBytesConfig
from transformers.utils import logging

from common.errors import UserError
from data.checkpoint_folder import fingerprint
from models.checkpoint.adapter_config import base_of
from models.checkpoint.hf_folder import HfFolder, read_hf_folder
from models.checkpoint.narrowing import Narrowing
from models.family import Family
from models.image_settings import ImageSettings
from models.language import check_served, sliding_window
from models.processor import load_processor, settings_for, splitting_remark, to_stderr
from models.registry import family
from models.text import check_template, decode, end_of_reply, render, special_tokens, tokenize
from server.config import ModelFlags
from server.engine.memory.kv_slots import KVSlots
from server.engine.memory.release import is_out_of_memory
from server.engine.model import last_layer, ragged_attention
from server.engine.model.lora import Adapters, read_adapters
from server.engine.model.ragged_attention import KERNELS, Chunk, RaggedStep
from server.engine.reply_form.grammar import Grammars
from server.engine.reply_form.tool_form import tool_form


@dataclasses.dataclass(frozen=True)
class LoadOptions(ModelFlags):
    """With the folders of adapters by name."""

    adapters: dict[str, str] = dataclasses.field(default_factory=dict)


class VisionLanguageModel:
    """A loaded checkpoint. `encode_image` and `forward` belong to one thread; the rest may run in any."""

    def __init__(self, folder: Path, options: LoadOptions):
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.device, self.family = _device(options.device), family(folder)
        checkpoint = read_hf_folder(folder, Family.parse_config)
        check_served(folder / "config.json", checkpoint.config.get_text_config())
        adapters = read_adapters(options.adapters, self.family, checkpoint.config)
        asked = ImageSettings(options.image_size, options.do_image_splitting)
        self.processor = load_processor(folder, settings_for(folder, options.image_recipe, asked))
        self._tokenizing = threading.Lock()  # a fast tokenizer refuses to be set up by two threads at once
        self.hf_model = _load_model(checkpoint, self.device, options)
        self._text_model = self.hf_model.get_decoder()
        ragged_attention.install(self._text_model)
        self._kernel = KERNELS[options.attn_implementation]
        self._no_mask = torch.zeros(1, 1, 1, 1, device=self.device)  # 4-D masks are passed on; steps bring their own
        self.adapters = Adapters(self.hf_model, adapters)
        last_layer.cut(self._text_model, self.adapters)
        config, generation = self.hf_model.config, self.hf_model.generation_config
        self.images = self.family.image_encoder(self.processor, config)
        if options.do_image_splitting is None and (remark := splitting_remark(folder, self.processor)):
            to_stderr(remark)
        self.sliding_window = sliding_window(config.get_text_config())
        self.context_length: int = config.get_text_config().max_position_embeddings
        self.image_token_id = self.images.token_id
        width = self.hf_model.get_output_embeddings().out_features
        ends = {*self.family.end_ids(self.processor.tokenizer, generation), *self._template_ends()}
        self.eos_ids = sorted(one for one in ends if one < width)
        self.banned_ids = [one for one in self.family.forbidden_ids(generation) if one < width]
        if not self.eos_ids:
            raise UserError(f"{folder}: its {width} rows of logits hold no end token, so no reply would end")
        self._check_template(folder)
        self.tool_form = tool_form(self.processor)
        self.vocab_size: int = self.hf_model.get_input_embeddings().num_embeddings
        self.grammars = Grammars(self.processor.tokenizer, width, self.eos_ids, self.banned_ids)
        files = "pytorch_model*.bin" if checkpoint.are_pickles else "*.safetensors"
        self._own_version = f"{folder.resolve().name}@{fingerprint(folder, files)}"
        self._config = checkpoint.config

    @property
    def weights_version(self) -> str:
        """Of what reads requests that name no adapter."""
        return self.version_of(self.adapters.default)

    def version_of(self, adapter: str) -> str:
        """Of the weights that read what `adapter` reads."""
        return adapter if adapter in self.adapters.adopted else self._own_version

    def adopt(self, folder: Path, in_use: Collection[str] = ()) -> None:
        """Have the PEFT adapter in `folder` read whatever names none; `in_use` are adapters that must stay.

        Raises:
            UserError: it is none of this model's.
        """
        base, own = base_of(folder), self._own_version.rpartition("@")[2]
        if base and fingerprint(base) != own:
            raise UserError(f"{folder}: is an adapter of {base}, whose weights are not those that are served")
        version = f"{folder.resolve().name}@{fingerprint(folder)}"
        [adapter] = read_adapters({version: str(folder)}, self.family, self._config).values()
        self.adapters.adopt(self.hf_model, version, adapter, in_use)

    def _check_template(self, folder: Path) -> None:
        try:
            check_template(self.processor)
        except UserError as error:
            raise UserError(f"{folder}: {error}") from None
        try:
            self.prompt_ids([{"role": "user", "content": [{"type": "text", "text": "go"}]}])
        except Exception as error:
            raise UserError(
                f"{folder}: its chat template does not write a user's turn ({_first_line(error)})"
            ) from None

    def _template_ends(self) -> list[int]:
        """The special token that begins what the template writes behind a reply: so replies that are trained here end,
        whatever generation_config.json says."""
        tokenizer = self.processor.tokenizer
        with contextlib.suppress(UserError):
            written = tokenizer(end_of_reply(self.processor, self.images), add_special_tokens=False).input_ids[:1]
            return [one for one in written if tokenizer.convert_ids_to_tokens(one) in special_tokens(tokenizer)]
        return []

    def pixels(self, image: Image.Image) -> BatchFeature:
        """Resize and normalize one RGB image as the checkpoint's processor says."""
        return self.images.process(image)

    def prompt_ids(
        self,
        messages: list[dict[str, Any]],
        sizes: Sequence[tuple[int, int]] = (),
        complete: bool = False,
        tools: Sequence[dict[str, Any]] = (),
    ) -> list[int]:
        """Token ids of a conversation whose content is a list of {"type": "text" | "image"} parts, up to where the
        next reply begins; a `complete` one ends with its own. `sizes` are (height, width) of its images, `tools` what
        the template is told that may be called."""
        text = render(self.processor, self.images, messages, sizes, not complete, tools)
        with self._tokenizing:
            return tokenize(self.processor, text).ids

    def decode_text(self, token_ids: Sequence[int]) -> str:
        """The text of a reply, without special tokens, with all the white space around it."""
        return decode(self.processor.tokenizer, token_ids)

    def encode_image(self, pixels: BatchFeature) -> torch.Tensor:
        """[image_tokens, hidden] features that stand for one image in the language model's input."""
        return self.family.image_features(self.hf_model, pixels.to(self.device, self.hf_model.dtype))

    def forward(
        self, token_ids: Sequence[int], features: Sequence[torch.Tensor], step: RaggedStep, wanted: Sequence[int]
    ) -> torch.Tensor:
        """Run the new tokens of a step, laid end to end; `features` fill their `<image>` tokens in order.

        Returns the next-token logits [len(wanted), vocab], float32, behind the tokens whose indices are `wanted`.
        """
        ids = torch.tensor([token_ids], device=self.device)
        embeddings = self.hf_model.get_input_embeddings()(ids)
        deepstack = {}
        if features:
            own, *later = torch.cat(list(features)).to(embeddings.dtype).split(embeddings.shape[-1], dim=-1)
            is_feature = ids == self.image_token_id
            is_feature[:, : step.num_decoding] = False  # a mark that a policy samples is a token like others
            embeddings[is_feature] = own
            deepstack = {"visual_pos_masks": is_feature, "deepstack_visual_embeds": later} if later else {}
        hidden = self._text_model(
            inputs_embeds=embeddings,
            attention_mask=self._no_mask,
            position_ids=step.position_ids,
            use_cache=False,
            step=step,
            **deepstack,
        ).last_hidden_state
        return self.hf_model.get_output_embeddings()(hidden[0, wanted]).float()

    def new_slots(self) -> KVSlots:
        """Empty KV slots of this model's shape."""
        config = self._text_model.config
        num_heads = config.num_key_value_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return KVSlots(config.num_hidden_layers, num_heads, head_dim, self.hf_model.dtype, self.device)

    @property
    def feature_bytes_per_token(self) -> int:
        """Memory of what stands for one `<image>` token."""
        width = self._text_model.config.hidden_size * (1 + self.family.num_deepstack(self.hf_model.config))
        return width * self.hf_model.dtype.itemsize

    def new_step(self, slots: KVSlots, decoding: Sequence[Chunk], chunks: Sequence[Chunk]) -> RaggedStep:
        """A step with this model's attention window and kernel."""
        return RaggedStep(slots, decoding, chunks, self.sliding_window, self._kernel)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {name}: not usable here ({str(error).splitlines()[0]})") from None
    return device


def _load_model(checkpoint: HfFolder, device: torch.device, options: LoadOptions) -> Any:
    folder, kind, dtype = checkpoint.path, checkpoint.family, options.dtype
    if dtype == "auto" and device.type == "cpu":
        dtype = "float32"  # bfloat16 decodes slower on CPUs
    quantized = {"quantization_config": _four_bits(kind, device), "device_map": device} if options.load_in_4bit else {}
    try:
        model, report = kind.auto_model().from_pretrained(
            folder,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            attn_implementation=options.attn_implementation,
            local_files_only=True,
            use_safetensors=not checkpoint.are_pickles,  # which were read with names from a table alone
            output_loading_info=True,
            **quantized,
        )
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise UserError(f"{folder}: its weights do not load ({_first_line(error)})") from None
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise UserError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    _check_numbers(checkpoint, model)
    return model.eval() if quantized else model.to(device).eval()


def _check_numbers(checkpoint: HfFolder, model: Any) -> None:
    """`UserError` where a weight is no number, or too large for the model's type; what became zero is printed."""
    kind = str(model.dtype).removeprefix("torch.")
    weights = {name: weight for name, weight in model.named_parameters() if weight.is_floating_point()}
    if broken := [name for name, weight in weights.items() if not weight.isfinite().all()]:
        infinite = [name for name in broken if weights[name].isinf().any()]
        first, what = (infinite[0], "infinite") if infinite else (broken[0], "NaN")
        advice = "give another --dtype" if kind == "float16" and infinite else "its training has failed"
        raise UserError(f"{checkpoint.path}: {first} (and {len(broken) - 1} more) is {what} in {kind}; {advice}")
    narrowing = Narrowing("to_zero")
    for name, tensor in checkpoint.stored.items():
        if torch.promote_types(tensor.dtype, model.dtype) != model.dtype:
            narrowing.round(name, tensor.read(), model.dtype)
    narrowing.check(checkpoint.path, to_stderr)


def _four_bits(kind: Family, device: torch.device) -> BitsAndBytesConfig:
    if importlib.util.find_spec("bitsandbytes") is None or device.type != "cuda":
        raise UserError("--load_in_4bit needs a GPU and the bitsandbytes package")
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
        llm_int8_skip_modules=[*kind.tower_names, *kind.connector_names, "lm_head"],
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
