"""idefics2's vision side: a perceiver is its connector."""

from models import vision

_FP32 = 4


class VisionSide(vision.VisionSide):
    """Units are images."""

    def connector_bytes(self, each: int) -> int:
        """A gated projection, then layers that normalize all patches in fp32 and repeat their keys and values."""
        text, resampler = self.config.text_config, self.config.perceiver_config
        heads = resampler.resampler_n_heads * resampler.resampler_head_dim
        layer = each * (2 * text.hidden_size + 2 * heads) + (_FP32 * text.hidden_size if each < _FP32 else 0)
        return each * 4 * text.intermediate_size + resampler.resampler_depth * layer

    def frozen_connector_bytes(self, each: int) -> int:
        """The gated projection's input, gate, its activation, and what it is multiplied with."""
        return each * (self.hidden + 3 * self.config.text_config.intermediate_size)
