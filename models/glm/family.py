"""GLM-4's facts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from models.text_family import TextFamily

if TYPE_CHECKING:
    from models.weight_table import Weight


class Family(TextFamily):
    """As Qwen2, with the gate and its up projection in one tensor, and the first half of a head turned, pair by pair of
    neighbors. WebRL trains GLM-4-9B (arXiv 2411.02337); this is what Hugging Face calls `glm-4-9b-hf`."""

    name = "glm"
    has_qkv_bias = True
    rotates_neighbors = True

    def check(self, path: Path, config: Any) -> None:
        super().check(path, config)
        if not config.attention_bias:
            raise UserError(f"{path}: attention_bias is false; only those with biases of queries, keys and values")

    def weight_table(self, config: Any) -> "list[Weight]":
        from models.weight_table import with_joined_gate

        return with_joined_gate(super().weight_table(config))


FAMILY = Family()
