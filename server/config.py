"""The server's flags, in one place; recipes hold them as they are. Nothing here imports torch or a web framework."""

from dataclasses import dataclass
from typing import Annotated, Literal

from common.options.limits import Checked, Port, above, at_least
from data.image_recipe import ImageRecipe
from data.sampling import SamplingDefaults


@dataclass(frozen=True)
class ModelFlags(Checked):
    """How a checkpoint is loaded."""

    device: str = "auto"
    """auto (the first GPU, else the CPU), cpu, cuda:0, ..."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """auto: float32 on CPU, else the checkpoint's own."""
    attn_implementation: Literal["sdpa", "eager"] = "sdpa"
    """Attention kernels; sdpa takes flash kernels where they fit."""
    load_in_4bit: bool = False
    """Quantise the language model to 4 bits; needs a GPU and bitsandbytes."""
    image_recipe: ImageRecipe = "keep"
    """What a released idefics2 sees that hf2mg.sh has not converted. published: what hf2mg.sh would write into it, 980
    pixels and no splitting; keep: what its files say. Other folders are served as they say."""
    image_size: Annotated[int, at_least(1)] | None = None
    """Longest and shortest image edge in pixels, other than the model was trained with; None: what its folder says."""
    do_image_splitting: bool | None = None
    """Whether idefics2 also reads each image in quarters, other than it was trained; None: what its folder says."""


@dataclass(frozen=True)
class EngineFlags(Checked):
    """How many requests are computed together, and how."""

    max_batch_size: Annotated[int, at_least(1)] = 16
    """Sequences generated at once."""
    max_queue: Annotated[int, at_least(0)] = 256
    """Requests that may wait; further ones get status 429."""
    prefill_chunk: Annotated[int, at_least(1)] = 256
    """Prompt tokens read in each step beside the decoding; more of them read prompts faster on a big GPU."""
    max_draft_tokens: Annotated[int, at_least(0)] = 8
    """Tokens that are guessed beyond a reply's newest one, from its prompt and replies before it, and computed with it;
    replies stay the same, and take fewer steps. 0 switches this off."""


@dataclass(frozen=True, kw_only=True)
class ServerConfig(SamplingDefaults, EngineFlags, ModelFlags):
    """Serve a vision-language policy over HTTP."""

    model_name_or_path: str = ""
    """Checkpoint folder in Hugging Face format (config.json, *.safetensors, tokenizer, processor). Empty: the starting
    policy that comes with the repository."""
    served_model_name: str = ""
    """Name that OpenAI clients may give as `model` beside the folder's own; it stays when /reload changes the weights.
    Empty: the name of the folder that is served first."""
    port: Port = 8080
    """Port to listen on; 0 picks a free one."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 serves every machine that reaches this one, so set ELCANO_API_KEY too."""
    api_key: str = ""
    """Bearer token that clients must send. Better set ELCANO_API_KEY, which other users of this machine cannot read."""
    replicas: Annotated[int, at_least(1)] = 1
    """Server processes behind this port: one for each of the first N GPUs, or N on the CPU."""
    ray_address: str = ""
    """Place the replicas on the nodes of this Ray cluster, HOST:PORT, which see the same checkpoint folder; local: one
    of this machine alone."""
    kv_cache_gib: Annotated[float, above(0)] | None = None
    """Memory for keys, values and image features, of running requests and of what may be reused; None: 2 GiB on a CPU,
    80 % of what the weights leave free on a GPU, measured anew when they change."""
    read_ahead: bool = True
    """Read what an episode's next prompt will begin with while its browser acts."""
    request_timeout_s: Annotated[float, above(0)] = 600.0
    """Requests not answered by then get status 408; a request may ask for less by its own timeout_s."""
    max_body_mib: Annotated[int, at_least(1)] = 256
    """Larger requests get status 413."""
    access_log: str = ""
    """File for one JSON line per request; - is the standard error."""
    adapters: tuple[str, ...] = ()
    """LoRA adapters as NAME=FOLDER (PEFT's format); requests name one by `adapter`, OpenAI clients by `model`."""
