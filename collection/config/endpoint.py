"""Who is asked what the agent says next, and how."""

from dataclasses import dataclass
from typing import Literal

from common.errors import UserError
from data.sampling import SamplingRequest

Prompt = Literal["trained", "chat"]
"""How a policy is asked: with `build_conversation`, on which it is trained, or as a general chat model."""


@dataclass(frozen=True, kw_only=True)
class EndpointFlags(SamplingRequest):
    """The policy's server, and what it is asked for."""

    api_localhost: tuple[str, ...] = ()
    """URL of a model server's /predict, or several of them. None: an OpenAI-compatible endpoint is asked instead."""
    api_base: str = ""
    """Base URL of an OpenAI-compatible endpoint. Empty: OpenAI's own."""
    api_model: str = ""
    """Model name for that endpoint. Empty: gpt-4o, or whatever it serves where --api_base is one of our servers."""
    api_key: str = ""
    """Key for that endpoint. Better set ENDPOINT_API_KEY, which other users of this machine cannot read. OPENAI_API_KEY
    is for OpenAI's own, ELCANO_API_KEY for our servers: --api_localhost, or on its hosts or this machine."""
    prompt: Prompt | None = None
    """What the policy is asked with: `trained`, the conversation that training reads (no system prompt), through any
    protocol, whose sampled tokens are then kept, too; or `chat`, for a general chat model. Default: `trained` with
    --api_localhost, `chat` without."""

    def check_together(self) -> None:
        super().check_together()
        if self.prompt == "chat" and self.api_localhost:
            raise UserError("--prompt chat is for chat endpoints: give --api_base http://HOST:PORT/v1 instead")

    @property
    def asked_with(self) -> Prompt:
        """`prompt`, or what stands in for it."""
        return self.prompt or ("trained" if self.api_localhost else "chat")
