"""OpenWebVoyager with its published values: imitation of GPT-4o, then three rounds of exploration and feedback.

    export OPENAI_API_KEY=... IDEFICS2=<folder> OPENWEBVOYAGER_TASKS=<folder of data_for_training/ and data_for_test/>
    bash examples/openwebvoyager/run.sh

Needs 8 GPUs, the idefics2-8b checkpoint, the internet and an API key. Source: OpenWebVoyager (arXiv 2410.19609).
"""

import os
from pathlib import Path

from collection.config.commands import ExplorationConfig, RunConfig
from common.errors import UserError
from elcano.recipe import Recipe, Round
from server.config import ServerConfig
from training.options import TrainingOptions

SITES = ("webvoyager", "mind2web")
IL_FILES = (
    "webvoyager_human_extend_75q",
    "webvoyager_extend_300q",
    "mind2web_human_extend_165q",
    "mind2web_selected_web_516q",
    "general_google_search_460q",
)
OPTIM_SIZES = {"webvoyager": 150, "mind2web": 330}
TEST_FILES = ("WebVoyager_test", "mind2web_test_cross_task", "mind2web_test_cross_web")
JUDGE = os.environ.get("EVAL_MODEL", "gpt-4o")
BROWSING = {"max_iter": 15, "max_attached_imgs": 3, "num_sessions": int(os.environ.get("NUM_SESSIONS", "16"))}


def recipe() -> Recipe:
    """1,516 queries of imitation learning, then 480 in each round with up to five tries a query."""
    data = folder("OPENWEBVOYAGER_TASKS", "the published task files: data_for_training/ and data_for_test/")
    training = data / "data_for_training"
    return Recipe(
        name="openwebvoyager",
        starting_policy=folder("IDEFICS2", "the Hugging Face checkpoint idefics2-8b"),
        test_tasks=tuple(data / "data_for_test" / f"{name}.jsonl" for name in TEST_FILES),
        rounds=[
            Round("IL", tuple(training / "IL" / f"{name}.jsonl" for name in IL_FILES), agent="teacher"),
            *(Round(f"optim-{number}", optim_files(training, number), agent="policy") for number in (1, 2, 3)),
        ],
        embedded_sites=False,
        teacher=ExplorationConfig(  # wrong answers are kept, unfinished tries are taken once more
            **BROWSING,
            api_base="https://api.openai.com/v1",
            api_model="gpt-4o",
            judge="finished",
            max_rerun_times=2,
        ),
        exploration=ExplorationConfig(
            **BROWSING,
            temperature=1.2,
            max_rerun_times=5,
            judge="webvoyager",
            api_eval_model=JUDGE,
            eval_imgs=3,
        ),
        testing=RunConfig(**BROWSING, judge="webvoyager", api_eval_model=JUDGE, eval_imgs=15),
        serving=ServerConfig(dtype="bfloat16", max_batch_size=16, max_new_tokens=256),
        training=TrainingOptions(),  # the published values: TP 8, bf16, 8192 tokens, 300 steps
    )


def optim_files(training: Path, number: int) -> tuple[Path, ...]:
    """The two task files of a round."""
    stage = training / f"optim_iter{number}"
    return tuple(stage / f"{sites}_for_iter{number}_{OPTIM_SIZES[sites]}q.jsonl" for sites in SITES)


def folder(variable: str, what: str) -> Path:
    """The folder that an environment variable names."""
    if not (value := os.environ.get(variable)):
        raise UserError(f"set {variable} to {what}")
    return Path(value).resolve()
