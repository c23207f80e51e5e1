"""ViP-LLaVA: LLaVA's tower and a connector of its own."""

from typing import Any

from transformers.models.vipllava.modeling_vipllava import VipLlavaMultiModalProjector

from training.modules.llava import model as llava


class Model(llava.Model):
    """A unit is an image; each of its patches is a feature."""

    def build_vision(self, hf: Any) -> None:
        hf.vision_feature_select_strategy = "default"  # the only one there is
        self.vision_tower = llava.ClipTower(hf)
        self.multi_modal_projector = VipLlavaMultiModalProjector(hf)
