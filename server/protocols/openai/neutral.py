"""Neutral values: the fields of OpenAI's and vLLM's chat requests that are not served, with the values of each that ask
for nothing. Many clients send all they know."""

from typing import Any

from server.engine.reply_form.request_error import RequestError

ANY = object()
"""Whatever the value, no reply would differ."""

OPENAI: dict[str, tuple[Any, ...]] = {  # openai 3.52
    "audio": (),
    "frequency_penalty": (0,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "logit_bias": ({},),
    "metadata": (ANY,),
    "modalities": (["text"],),
    "moderation": (),
    "prediction": (),
    "presence_penalty": (0,),
    "prompt_cache_options": ({},),
    "prompt_cache_retention": (ANY,),
    "reasoning_effort": ("none",),
    "service_tier": (ANY,),
    "store": (False,),
    "verbosity": ("medium",),
    "web_search_options": (),
}

VLLM: dict[str, tuple[Any, ...]] = {
    "add_generation_prompt": (True,),
    "add_special_tokens": (False,),
    "allowed_token_ids": (),
    "bad_words": ([],),
    "best_of": (1,),
    "cache_salt": ("",),
    "chat_template": ("",),
    "chat_template_kwargs": ({},),
    "continue_final_message": (False,),
    "documents": ([],),
    "early_stopping": (False,),
    "echo": (False,),
    "guided_decoding_backend": (ANY,),
    "guided_grammar": (),
    "guided_whitespace_pattern": (),
    "ignore_eos": (False,),
    "include_reasoning": (True, False),
    "include_stop_str_in_output": (False,),
    "kv_transfer_params": ({},),
    "length_penalty": (1,),
    "logits_processors": ([],),
    "media_io_kwargs": ({},),
    "min_p": (0,),
    "mm_processor_kwargs": ({},),
    "priority": (0,),
    "prompt_logprobs": (),
    "repetition_detection": (),
    "repetition_penalty": (1,),
    "request_id": (ANY,),
    "return_tokens_as_token_ids": (False,),
    "skip_special_tokens": (True,),
    "spaces_between_special_tokens": (True, False),
    "stop_token_ids": ([],),
    "structural_tag": (),
    "thinking_token_budget": (-1,),
    "truncate_prompt_tokens": (),
    "truncation_side": (ANY,),
    "use_beam_search": (False,),
    "vllm_xargs": ({},),
}


def check_neutral(name: str, value: Any) -> None:
    """Raises `RequestError` for a field that would have an effect here, and for one that nobody knows."""
    shown = name[:100]
    harmless = (OPENAI | VLLM).get(name)
    if harmless is None:
        raise RequestError(f"unknown field {shown!r}", shown, "unknown_parameter")
    if any(one is ANY or (value == one and isinstance(value, bool) == isinstance(one, bool)) for one in harmless):
        return
    advice = " or ".join(["leave it out", *(f"give {one!r}" for one in harmless)])
    code = "unsupported_value" if harmless else "unsupported_parameter"
    raise RequestError(f"{name} is not served here with this value; {advice}", name, code)
