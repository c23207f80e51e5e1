"""Asking a model for a verdict: in the strictest format that its endpoint takes, and again where the reply is none."""

from typing import Any

from collection.judges.endpoint.endpoint import Completion, Endpoint, JudgeReply
from collection.judges.endpoint.faults import RefusedError, UnclearReplyError
from collection.judges.endpoint.reply_format import FormatName, next_format
from collection.judges.verdicts.fence import PREFIX
from collection.judges.verdicts.verdict import VerdictForm
from common.shown.terminal import in_short
from data.conversation import escape_special

MAX_ASKED_AGAIN = 2
REPLY_SEPARATOR = "\n--asked again--\n"
_SHOWN_AGAIN = 4000  # characters of its own reply that a judge is shown when it is asked again


def ask_verdict(
    endpoint: Endpoint,
    system: str,
    content: str | list[dict[str, Any]],
    form: VerdictForm,
    temperature: float = 0.0,
    seed: int = 42,
) -> JudgeReply:
    """What a model says of `content`, in one of the choices of `form`; `text` keeps every reply there was.

    Args:
        system: the prompt up to where it says how the reply ends, which `form` adds.

    Raises:
        UnclearReplyError: no verdict in three replies; it has them as `raw`.
        JudgeFault, UserError: as `Endpoint.reply`.
    """
    formats, is_quotable = endpoint.reply_format, form.stands_in(words_of_others(content))
    with formats.finding():
        name, texts = formats.name, []
        while len(texts) <= MAX_ASKED_AGAIN:
            is_json = name != "text"
            with_reasons = not texts
            messages = _messages(system, content, form, is_json, texts)
            request = {
                "messages": messages,
                "temperature": temperature,
                "seed": seed + 1000 * len(texts),
                **_response_format(name, form, with_reasons),
            }

            def read(reply: Completion, is_json: bool = is_json, with_reasons: bool = with_reasons) -> Any | None:
                if reply.is_cut:
                    return None
                return form.read_json(reply.text, with_reasons) if is_json else form.read(reply.text, is_quotable)

            try:
                reply, meaning = endpoint.reply(request, read)
            except RefusedError:
                if formats.is_found or not is_json:
                    raise
                name = next_format(name)
                continue
            if meaning is not None or not is_json:
                formats.found(name)
            elif not formats.is_found and not reply.is_cut:  # whoever keeps a format does so at once
                name = next_format(name)
                continue
            texts.append(reply.text)
            if meaning is not None:
                return JudgeReply(REPLY_SEPARATOR.join(texts), meaning, messages[0]["content"], len(texts))
    demanded = " or ".join(repr(form.line.format(word)) for word in form.choices)
    said = f"{endpoint.url}: no verdict in {len(texts)} replies; the last one does not end as demanded ({demanded}), "
    said += "or leaves doubt before that: "
    raise UnclearReplyError(said + repr(in_short(texts[-1])), REPLY_SEPARATOR.join(texts))


def words_of_others(content: str | list[dict[str, Any]]) -> list[str]:
    """The lines behind the fence."""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    return [line.removeprefix(PREFIX) for line in text.split("\n") if line.startswith(PREFIX)]


def _messages(
    system: str, content: str | list[dict[str, Any]], form: VerdictForm, is_json: bool, texts: list[str]
) -> list[dict[str, Any]]:
    """The chat; of what the judge said before only the newest, so that it need not look at everything again."""
    messages = [{"role": "system", "content": system + form.demand(is_json)}, {"role": "user", "content": content}]
    if texts:
        said = escape_special(_shortened(texts[-1])) or "(nothing)"
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": form.reminder(is_json)}]
    return messages


def _response_format(name: FormatName, form: VerdictForm, with_reasons: bool) -> dict[str, Any]:
    if name == "text":
        return {}
    if name == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = {"name": "verdict", "strict": True, "schema": form.schema(with_reasons)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _shortened(text: str) -> str:
    """Its beginning and its end."""
    half = _SHOWN_AGAIN // 2
    return text.strip() if len(text) <= _SHOWN_AGAIN else f"{text[:half]}\n...\n{text[-half:]}"
