"""The tokens that a policy sampled, as samples carry them: trained on as they are, never tokenized again."""

import dataclasses
from typing import Any

from common.errors import UserError
from common.options.fields import fits, is_number
from data.sampling import drawn_otherwise
from models.images import ImageEncoder
from models.text import decode_reply, escape, escape_around_marks


@dataclasses.dataclass(frozen=True)
class SampledReply:
    """The last reply of a sample, as the server drew it; it has no end token when its length ended it.

    `logprobs` are those of the distributions that its tokens were drawn from, under the weights `weights_version` and
    after temperature, top-k, top-p, minimum length and bad words; None where nobody knows them. Training computes its
    own at the same `temperature`; others they are where something was `cut_off` (top-k or top-p).
    """

    token_ids: list[int]
    logprobs: list[float] | None = None
    weights_version: str = ""
    temperature: float = 1.0
    cut_off: bool = False

    @staticmethod
    def of(fields: dict[str, Any]) -> "SampledReply | None":
        """Of a sample's json member; None when it has no token ids.

        Raises:
            UserError: they are not numbers, or not as many as the log-probabilities; what is said of how they were
                drawn is no temperature.
        """
        token_ids, logprobs = fields.get("token_ids"), fields.get("logprobs")
        if not token_ids:
            return None
        if not fits(token_ids, list[int]):
            raise UserError("token_ids must be a list of whole numbers")
        if logprobs is not None:
            if not fits(logprobs, list[float]):
                raise UserError("logprobs must be a list of finite numbers")
            if len(logprobs) != len(token_ids):
                raise UserError(f"{len(token_ids)} token_ids but {len(logprobs)} logprobs")
        sampling = fields.get("sampling", {})
        temperature = sampling.get("temperature", 1.0) if isinstance(sampling, dict) else None
        if not is_number(temperature) or temperature < 0:
            raise UserError(f"sampling must say a temperature of 0 or more, not {sampling!r:.40}")
        cut_off = not drawn_otherwise(sampling).keys() <= {"temperature"}
        return SampledReply(token_ids, logprobs, str(fields.get("weights_version", "")), float(temperature), cut_off)

    def says(self, tokenizer: Any, reply: str, images: ImageEncoder) -> bool:
        """Whether the tokens are `reply` under this tokenizer: another model's are not, nor those of another text.

        A token without a text is one, too: LLaVA-1.6's model has 62 that its tokenizer does not know."""
        if not all(0 <= token < images.vocab_size for token in self.token_ids):
            return False
        said = escape(tokenizer, decode_reply(tokenizer, self.token_ids))
        return said.strip() == escape_around_marks(tokenizer, reply).strip()
