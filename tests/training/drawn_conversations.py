"""Conversations drawn to confuse a loss mask, and chat templates as they are found: some strip, merge, trim or add."""

import random

_WORDS = (
    "shop",
    "cart",
    "Click [7]",
    "naïve",
    "cafe\u0301",
    "購物車",
    "🛒 👩‍🚀",
    "x = {'a': [1, 2]}",
    "1 234,5",
    "a\tb",
)
_HEADERS = (
    *("assistant:", "ASSISTANT:", "Assistant:", "<|im_start|>assistant\n", "<|im_end|>", "</s>", "[/INST]"),
    *("<end_of_utterance>", "### Response:", "user:\n", "<think>", "</think>", "<|image_pad|>", "{% generation %}"),
)
_SPACE = ("", "", "", " ", "\n", "\n\n", "  ", " \n")


def draw(rng: random.Random) -> list[dict[str, str]]:
    """A sample's conversation of one to four questions and replies, without images."""
    turns: list[dict[str, str]] = []
    for _ in range(rng.randint(1, 4)):
        asked = _text(rng)
        turns.append({"from": "human", "value": asked})
        turns.append({"from": "gpt", "value": asked if rng.random() < 0.1 else _reply(rng)})
    return turns


def _reply(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.08:
        return rng.choice(("", " ", "\n"))
    if kind < 0.3:
        return f"<think>\n{_text(rng)}\n</think>\n\n{_text(rng)}"
    if kind < 0.4:
        return '<tool_call>\n{"name": "click", "arguments": {"x": 1}}\n</tool_call>'
    return rng.choice(_SPACE) + _text(rng) + rng.choice(_SPACE)


def _text(rng: random.Random) -> str:
    words = [rng.choice(_HEADERS if rng.random() < 0.15 else _WORDS) for _ in range(rng.randint(1, 6))]
    return rng.choice((" ", "\n", "")).join(words)


_HEAD = "{{ '<|im_start|>' + m.role + '\n' }}"
_ASK = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
FOREIGN = {
    # the thoughts of all but the last reply are left out; a last one without gets an empty block
    "strips thoughts": (
        "{% for m in messages %}" + _HEAD + "{% set c = m.content %}{% if m.role == 'assistant' %}"
        "{% set said = c.split('</think>')[-1].lstrip('\n') %}{% set r = '' %}"
        "{% if '</think>' in c %}{% set r = c.split('</think>')[0].split('<think>')[-1].strip() %}{% endif %}"
        "{% if loop.last %}{{ '<think>\n' + r + '\n</think>\n\n' + said }}{% else %}{{ said }}{% endif %}"
        "{% else %}{{ c }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}" + _ASK
    ),
    # a system turn of its own, today's date, marks of what is generated
    "marks what is generated": (
        "{{ '<|im_start|>system\nToday is ' + strftime_now('%Y-%m-%d') + '<|im_end|>\n' }}{% for m in messages %}"
        "{% if m.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}{% generation %}{{ m.content + '<|im_end|>' }}"
        "{% endgeneration %}{{ '\n' }}{% else %}"
        + _HEAD
        + "{{ m.content + '<|im_end|>\n' }}{% endif %}{% endfor %}"
        + _ASK
    ),
    # no header of a reply, words trimmed, only the last reply is ended and the text is closed behind it
    "trims and ends once": (
        "{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content | trim + ' [/INST]' }}"
        "{% else %}{{ ' ' + m.content | trim }}"
        "{% if loop.last %}{{ '<|im_end|>\n<|endoftext|>' }}{% endif %}{% endif %}"
        "{% endfor %}"
    ),
    # add_generation_prompt is not known, so a prompt ends before the header of its reply
    "forgets the prompt": "{% for m in messages %}" + _HEAD + "{{ m.content + '<|im_end|>\n' }}{% endfor %}",
    # ordinary words for headers and ends, as of old instruction models
    "plain words": (
        "{% for m in messages %}{{ '### ' + ('Response' if m.role == 'assistant' else 'Instruction') + ':\n' }}"
        "{{ m.content }}"
        "{% if m.role == 'assistant' %}{{ '<|endoftext|>' }}{% endif %}{{ '\n\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '### Response:\n' }}{% endif %}"
    ),
    # replies are written as calls, in JSON
    "replies as JSON": (
        "{% for m in messages %}" + _HEAD + "{% if m.role == 'assistant' %}{{ {'text': m.content} | tojson }}"
        "{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}" + _ASK
    ),
    # a thought is opened by the prompt, closed by the reply
    "opens the thought": (
        "{% for m in messages %}" + _HEAD + "{% if m.role == 'assistant' and '<think>' not in m.content %}"
        "{{ '<think>\n' }}{% endif %}{{ m.content + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}"
    ),
    # turns follow each other without a word between them
    "joins turns": (
        "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}{{ '<|im_end|>' }}{% endif %}{% endfor %}"
    ),
}
"""Templates for ChatML's special tokens, none of a family that is shipped."""
