"""Scores equal the log-probabilities that the Hugging Face model itself gives."""

from pathlib import Path

import torch

from data.conversation import StepText, build_conversation, split_marks
from server.engine.engine import Engine, EngineConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.protocols.score import score_answers
from tests.server.helpers import observation, png, screenshot


def test_scores_equal_the_models_log_probabilities(tiny_policy: Path) -> None:
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(prefill_chunk=23))
    turns = build_conversation("Find it.", [StepText(observation(1, 6))], 3).turns
    messages = [{"role": turn.role, "content": split_marks(turn.text)} for turn in turns]
    image = screenshot(1)
    answers = ["Thought: é\n\nAction: Click [3]", "Thought: I wait for a long while.\n\nAction: Wait"]
    scored = [future.result(60) for future in score_answers(engine, messages, from_predict([png(image)]), answers)]
    engine.stop()
    for answer, score in zip(answers, scored, strict=True):
        whole = [*messages, {"role": "assistant", "content": [{"type": "text", "text": answer}]}]
        text = model.processor.apply_chat_template(whole, add_generation_prompt=False).strip()
        inputs = model.processor(text=[text], images=[[image]], return_tensors="pt")
        ids = inputs["input_ids"][0]
        said = model.processor.tokenizer.decode(score.token_ids)
        assert said == f" {answer}<end_of_utterance>" and ids[-len(score.token_ids) :].tolist() == score.token_ids
        with torch.inference_mode():
            logprobs = model.hf_model(**inputs).logits[0].log_softmax(-1)
        begin = len(ids) - len(score.token_ids)
        expected = logprobs[begin - 1 : -1].gather(1, ids[begin:, None])[:, 0]
        assert torch.allclose(torch.tensor(score.logprobs), expected, atol=1e-4)
