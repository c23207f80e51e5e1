"""GRPO of TRL on the tasks of an OpenEnv server of ours, with a tiny random policy: what the two need of each other.

    python -m environments.openenv_adapter --env_tasks trac.no-such-ticket --env_seeds 0 1 2 3 --num_sessions 8
    python examples/openenv/grpo_with_trl.py --base_url http://127.0.0.1:8000 --max_steps 10

A prompt is a task's id, so that all rollouts of a group begin the same task, each on a server of its own. The policy
knows five actions and reads words by their hash: it can learn to say that what is asked for cannot be done. With
`trl`, `openenv` and nothing else to install; no network.
"""

import argparse
import contextlib
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor

try:
    from datasets import Dataset
    from openenv import GenericEnvClient
    from trl import GRPOConfig, GRPOTrainer
except ModuleNotFoundError as missing:
    print(f"error: {missing} in {sys.executable}; run: pip install trl openenv", file=sys.stderr)
    sys.exit(2)

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

ACTIONS = ("ANSWER; N/A", "ANSWER; done", "Wait", "GoBack", "Scroll [WINDOW]; down")
WORDS = 16
MAX_WORDS = 24
VOCABULARY = ["<pad>", "<eos>", *(action.replace(" ", "_") for action in ACTIONS), *(f"w{n}" for n in range(WORDS))]
FIRST_ACTION, FIRST_WORD = 2, 2 + len(ACTIONS)
PARALLEL = 8


def read(text):
    """The last words of a text as ids."""
    return [FIRST_WORD + zlib.crc32(word.encode()) % WORDS for word in text.split()[-MAX_WORDS:]]


def rollouts(base_url):
    """TRL's `rollout_func`: one episode for each prompt, all at the same time, each with a client of its own."""

    def play(task_ids, trainer):
        model = trainer.accelerator.unwrap_model(trainer.model)
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(task_ids)) as pool:
            clients = [stack.enter_context(GenericEnvClient(base_url=base_url).sync()) for _ in task_ids]
            results = list(pool.map(lambda client, task: client.reset(task=task), clients, task_ids))
            prompts = [read(result.observation["goal"]) for result in results]
            said, logprobs, masks = ([[] for _ in task_ids] for _ in range(3))
            while live := [number for number, result in enumerate(results) if not result.done]:
                drawn = [sample(model, prompts[number] + said[number]) for number in live]
                after = pool.map(step, [clients[number] for number in live], [token for token, _ in drawn])
                for number, (token, logprob), result in zip(live, drawn, after, strict=True):
                    heard = [] if result.done else read(result.observation["feedback"])  # the environment's words
                    said[number] += [token, *heard]
                    logprobs[number] += [logprob, *[0.0] * len(heard)]
                    masks[number] += [1, *[0] * len(heard)]
                    results[number] = result
        rewards = [float(result.reward or 0.0) for result in results]
        print(f"rewards {rewards}", flush=True)
        return {
            "prompt_ids": prompts,
            "completion_ids": said,
            "logprobs": logprobs,
            "env_mask": masks,
            "env_reward": rewards,
        }

    return play


def step(client, token):
    """Carry out what the token says; a word is no action, and the environment says so."""
    reply = ACTIONS[token - FIRST_ACTION] if FIRST_ACTION <= token < FIRST_WORD else VOCABULARY[token]
    return client.step({"reply": reply})


@torch.no_grad()
def sample(model, ids):
    """(the next token, its log-probability)."""
    logprobs = model(torch.tensor([ids], device=model.device)).logits[0, -1].log_softmax(-1)
    token = int(torch.multinomial(logprobs.exp(), 1))
    return token, float(logprobs[token])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base_url", default="http://127.0.0.1:8000")
    parser.add_argument("--tasks", nargs="+", default=[f"trac.no-such-ticket--{number}" for number in range(4)])
    parser.add_argument("--max_steps", type=int, default=10)
    flags = parser.parse_args()
    torch.manual_seed(0)
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(VOCABULARY)}, unk_token="<pad>"))
    words.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
    size = GPT2Config(vocab_size=len(VOCABULARY), n_positions=512, n_embd=32, n_layer=2, n_head=2)
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            max_steps=flags.max_steps,
            per_device_train_batch_size=PARALLEL,
            num_generations=PARALLEL,
            learning_rate=1e-2,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
        )
        trainer = GRPOTrainer(
            model=GPT2LMHeadModel(size),
            processing_class=tokenizer,
            reward_funcs=lambda env_reward, **_: env_reward,
            args=settings,
            train_dataset=Dataset.from_dict({"prompt": flags.tasks}),
            rollout_func=rollouts(flags.base_url),
        )
        trainer.train()


if __name__ == "__main__":
    main()
