"""OpenWebVoyager's variables that its `train_OpenWebVoyager_idefics2.sh` has and ours needs no value for.

MODEL_SIZE          must be the checkpoint's; its shape is read from there
PAD_LEN             must be SEQ_LEN, to which samples are padded
FL                  must be true: attention always runs on flash, variable-length or blockwise kernels
EXTRA_VOCAB_SIZE, PAD_VOCAB_SIZE, MEGATRON_PATCH_PATH   not needed, whatever their value
"""

from collections.abc import Mapping
from typing import Any

from common.errors import UserError
from training.config import Config

_SIZES = {"7B": (32, 4096), "13B": (40, 5120), "70B": (80, 8192)}  # layers, hidden size, as in the published table
_NOT_NEEDED = {
    "EXTRA_VOCAB_SIZE": "the checkpoint knows its vocabulary",
    "PAD_VOCAB_SIZE": "the checkpoint knows its vocabulary",
    "MEGATRON_PATCH_PATH": "megatron-core is an installed package",
}


def check_published(environment: Mapping[str, str], config: Config) -> None:
    """Raise `UserError` for a published variable that asks for what this run does not do."""
    pad = environment.get("PAD_LEN") or str(config.seq_len)
    if pad != str(config.seq_len):
        raise UserError(
            f"PAD_LEN={pad}, but SEQ_LEN={config.seq_len}: samples are padded to SEQ_LEN; leave PAD_LEN out"
        )
    if environment.get("FL", "true") != "true":
        raise UserError(f"FL={environment['FL']}: attention has no other kernels than flash ones here; leave FL out")


def check_model_size(environment: Mapping[str, str], hf: Any) -> None:
    """Raise `UserError` when MODEL_SIZE is not that of the Hugging Face configuration `hf`."""
    size = environment.get("MODEL_SIZE")
    if not size:
        return
    if size not in _SIZES:
        raise UserError(
            f"MODEL_SIZE={size}: known are {', '.join(_SIZES)}; leave it out, the checkpoint knows its size"
        )
    text = hf.get_text_config()
    found = (text.num_hidden_layers, text.hidden_size)
    if found != _SIZES[size]:
        raise UserError(
            f"MODEL_SIZE={size} has {_SIZES[size][0]} layers of width {_SIZES[size][1]}, but this checkpoint has "
            f"{found[0]} of {found[1]}; leave it out, the checkpoint knows its size"
        )


def not_needed(environment: Mapping[str, str]) -> str:
    """One line about the variables that are set and change nothing; empty when there is none."""
    reasons = [f"{name} is not needed ({why})" for name, why in _NOT_NEEDED.items() if environment.get(name)]
    return "; ".join(reasons)
