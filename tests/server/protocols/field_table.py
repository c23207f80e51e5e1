"""The table of docs/reference/serving_fields.md: what becomes of every field of OpenAI's and vLLM's chat requests.

    python -m tests.server.protocols.field_table          writes it

OpenAI's fields are those of the installed openai package.
"""

import json
from typing import Any

from openai.types.chat import completion_create_params

from server.protocols.openai.neutral import ANY, OPENAI, VLLM
from server.protocols.openai.request import ChatRequest
from tests.server.helpers import ROOT
from tests.server.protocols.vllm_fields import VLLM_FIELDS

TABLE = ROOT / "docs" / "reference" / "serving_fields.md"
_HEAD = """# The fields of a chat request

Does the server take what my client sends? This table lists every field of OpenAI's and vLLM's requests.

- *served*: it does what it does there.
- *accepted*: these values ask for nothing, so they pass. Any other value is refused by name, with status 400.
- *refused*: leave it out, or send null.

| field | of | here |
|---|---|---|
"""


def openai_fields() -> list[str]:
    """By the package's types."""
    return sorted({*completion_create_params.CompletionCreateParamsBase.__annotations__, "stream"})


def fate(name: str) -> str:
    """What becomes of a field; a KeyError for one that nobody has thought of."""
    if name in ChatRequest.model_fields:
        return "served"
    values = (OPENAI | VLLM)[name]
    if ANY in values:
        return "accepted with any value, changes no reply"
    return "accepted: " + ", ".join(f"`{_json(value)}`" for value in values) if values else "refused"


def table() -> str:
    """The whole page."""
    rows = [f"| `{name}` | OpenAI | {fate(name)} |" for name in openai_fields()]
    rows += [f"| `{name}` | vLLM: {VLLM_FIELDS[name]} | {fate(name)} |" for name in sorted(VLLM_FIELDS)]
    ours = sorted({*ChatRequest.model_fields} - {*openai_fields()} - {*VLLM_FIELDS})
    rows += [f"| `{name}` | ours | served |" for name in ours]
    return _HEAD + "\n".join(rows) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value)


if __name__ == "__main__":
    TABLE.write_text(table())
