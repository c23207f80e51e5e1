"""A checkpoint's template says how its calls are written, and replies are read by that, as far as they came."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from models.text_processor import TextProcessor
from server.engine.reply_form.grammar import Grammars
from server.engine.reply_form.tool_calls import Call, Tools, grammar, read_calls
from server.engine.reply_form.tool_form import OWN, ToolForm, tool_form
from tests.server.helpers import running_server
from tests.tiny import text_only
from tests.tiny.idefics2 import make_tokenizer

_LOOP = "{% for m in messages %}{{ m.role + ':' }}"
_TOLD = "{% if tools %}{{ 'You have ' + tools | tojson }}{% endif %}"
_END = "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"


def _template(calls: str, told: str = _TOLD) -> str:
    return f"{told}{_LOOP}{{{{ m.content }}}}{calls}{_END}"


TEMPLATES = {
    "tags": _template(
        '{% for c in m.tool_calls or [] %}{{ \'\n<call>\n{"name": "\' + c.function.name + \'", "arguments": \''
        " + c.function.arguments | tojson + '}\n</call>' }}{% endfor %}"
    ),
    "bare": _template(  # one call at most, as Llama's
        "{% if m.tool_calls %}{% if m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}"
        "{% set f = m.tool_calls[0].function %}"
        "{{ '{\"name\": \"' + f.name + '\", \"parameters\": ' + f.arguments | tojson + '}' }}{% endif %}"
    ),
    "special": _template(  # a special token begins a call, as with Mistral's
        "{% for c in m.tool_calls or [] %}{{ '<fake_token_around_image>' + c.function.name + '<end_of_utterance>'"
        " + c.function.arguments | tojson }}{% endfor %}"
    ),
    "pythonic": _template(  # no JSON: not one to keep to
        "{% for c in m.tool_calls or [] %}{{ c.function.name + '(' }}{% for k, v in c.function.arguments.items() %}"
        "{{ k + '=' + v }}{% endfor %}{{ ')' }}{% endfor %}"
    ),
    "mentions": _template("", told="{# no tools here #}"),
    "refuses": _template("", told="{% if tools %}{{ raise_exception('no tools') }}{% endif %}"),
}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "click": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 99}}},
    "say.it": {"type": "object", "properties": {"text": {"type": "string", "maxLength": 9}}, "required": ["text"]},
}
for _schema in FUNCTIONS.values():
    _schema["additionalProperties"] = False


def form_of(name: str) -> tuple[ToolForm, Any]:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = TEMPLATES[name]
    return tool_form(TextProcessor(tokenizer)), tokenizer


def test_the_form_is_what_the_template_writes() -> None:
    assert form_of("tags")[0] == ToolForm('<call>\n{"name": "', '", "arguments": ', "}\n</call>", "\n", True)
    assert form_of("bare")[0] == ToolForm('{"name": "', '", "parameters": ', "}", None, True)
    special = form_of("special")[0]
    assert (special.begin, special.middle, special.separator) == ("<fake_token_around_image>", "<end_of_utterance>", "")
    assert len(special.special) == 2
    assert all(form_of(name)[0] == OWN for name in ("pythonic", "mentions", "refuses"))


@pytest.mark.parametrize("name", ["tags", "bare", "special", "pythonic"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_replies_are_calls_that_are_read_again(name: str, seed: int) -> None:
    """Of a policy that draws any token alike: whatever it says is a call of a known function, with fitting arguments,
    and what a stream shows of it only grows."""
    form, tokenizer = form_of(name)
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id], [])
    rules = grammar(Tools(FUNCTIONS, required=True), form, None)
    text, ids = _draw(grammars.constraint(rules, "tools").copy(), tokenizer, seed)
    content, calls = read_calls(text, form, final=True)
    assert content == "" and calls and all(call.complete for call in calls)
    for call in calls:
        arguments = json.loads(call.arguments)
        assert set(arguments) <= set(FUNCTIONS[call.name]["properties"])
    shown: list[Call] = []
    for end in range(len(ids)):
        _, now = read_calls(tokenizer.decode(ids[:end], skip_special_tokens=True).rstrip("\ufffd"), form, final=False)
        assert len(now) >= len(shown)
        assert all(
            new.name == old.name and new.arguments.startswith(old.arguments)
            for new, old in zip(now, shown, strict=False)
        )
        shown = now


def test_text_may_come_first_and_a_begun_call_is_ended() -> None:
    for name in ("tags", "bare", "special", "pythonic"):
        form, tokenizer = form_of(name)
        grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id], [])
        one = grammars.constraint(grammar(Tools(FUNCTIONS), form, None), "tools")
        for token in tokenizer("I will <c" if name == "tags" else "I will ", add_special_tokens=False).input_ids:
            assert one.allowed([token]) == [token]
            one.consume(token)
        assert one.masks([])[0][tokenizer.eos_token_id]
        begin = tokenizer(form.begin, add_special_tokens=False).input_ids
        for token in [one for one in begin if tokenizer.decode([one]) or one in dict(form.special).values()]:
            if one.allowed([token]):
                one.consume(token)
        said = form.decoded(form.begin)
        assert not one.masks([])[0][tokenizer.eos_token_id], (name, said)


@pytest.mark.parametrize("is_named", [False, True])
def test_a_template_that_knows_tools_writes_the_conversation(tmp_path: Path, is_named: bool) -> None:
    """Over HTTP: the tokens of a prompt are those of what transformers renders; special tokens in it are broken up. One
    that is named `tool_use` counts where there are tools."""
    folder = text_only.build_policy(tmp_path / "policy", "llama", layers=2)
    (folder / "chat_template.jinja").write_text(TEMPLATES["mentions" if is_named else "tags"])
    if is_named:
        (folder / "additional_chat_templates").mkdir()
        (folder / "additional_chat_templates" / "tool_use.jinja").write_text(TEMPLATES["tags"])
    tools = [{"type": "function", "function": {"name": "click", "parameters": FUNCTIONS["click"]}}]
    call = {"id": "c", "type": "function", "function": {"name": "click", "arguments": '{"id": 3}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "clicked </s> it"},
    ]
    with running_server(folder) as server:
        body = {"messages": messages, "tools": tools, "tool_choice": "required", "max_tokens": 300, "seed": 1}
        status, reply = server.post("/v1/chat/completions", body)
        assert status == 200
        [choice] = reply["choices"]
        assert {one["function"]["name"] for one in choice["message"]["tool_calls"]} == {"click"}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    messages[1] |= {"content": "", "tool_calls": [{**call, "function": {"name": "click", "arguments": {"id": 3}}}]}
    messages[2]["content"] = "clicked < /s> it"
    expected = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, tokenize=False)
    assert reply["usage"]["prompt_tokens"] == len(tokenizer(expected, add_special_tokens=False).input_ids)


def test_what_may_become_a_call_waits() -> None:
    assert read_calls("so <tool", OWN, final=False) == ("so", [])
    assert read_calls("so <tool", OWN, final=True) == ("so <tool", [])
    assert read_calls('so <tool_call>\n{"name": "a", "arguments": {"b": "}', OWN, final=False) == (
        "so",
        [Call("a", '{"b": "}', False)],
    )


def _draw(constraint: Any, tokenizer: Any, seed: int) -> tuple[str, list[int]]:
    generator, ids = torch.Generator().manual_seed(seed), []
    while not constraint.complete and len(ids) < 2000:
        allowed = torch.from_numpy(constraint.masks([])[0].astype("float32"))
        if allowed[tokenizer.eos_token_id]:
            break
        ids.append(int(torch.multinomial(allowed, 1, generator=generator)))
        constraint.consume(ids[-1])
    return tokenizer.decode(ids, skip_special_tokens=True), ids
