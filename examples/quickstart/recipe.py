"""The quickstart's run: untrained, imitation learning, two rounds of exploration and feedback, on two CPU cores."""

from pathlib import Path

from elcano.devices import num_gpus
from elcano.recipe import Collection, Recipe, Round, Serving, Training

HERE = Path(__file__).resolve().parent
TASKS = HERE.parent.parent / "data" / "tasks"
LATER = {"LR": "5e-4"}  # rounds that go on from a policy that knows the sites


def recipe() -> Recipe:
    """Published values are overridden only where a 2.7 M-parameter policy on a laptop needs others."""
    return Recipe(
        name="quickstart",
        starting_policy=HERE / "starting_policy" / "weights",
        test_tasks=TASKS / "test.jsonl",
        rounds=[
            Round("IL", TASKS / "IL.jsonl", agent="teacher"),
            Round("optim-1", TASKS / "optim-1.jsonl", agent="policy", training=LATER, il_share=1 / 2),
            Round("optim-2", TASKS / "optim-2.jsonl", agent="policy", training=LATER, il_share=1 / 2),
        ],
        collection=Collection(
            max_iter=8, max_attached_imgs=1, num_sessions=8, max_rerun_times=3, explore_temperature=0.7
        ),
        serving=Serving(dtype="float32", max_batch_size=8, max_new_tokens=128, num_threads=1),
        training=Training(
            {
                "TP": "1" if num_gpus() == 1 else "2",  # two GPUs, or two cores
                "PP": "1",
                "PR": "fp32",
                "AC": "none",
                "SEQ_LEN": "2048",
                "IMAGE_NUM": "1",
                "BATCH_SIZE": "2",
                "GLOBAL_BATCH_SIZE": "2",
                "LR": "7e-4",
                "MIN_LR": "1e-5",
                "LR_WARMUP_ITERS": "10",
                "TRAIN_EPOCHS": "1",
                "SAVE_INTERVAL": "100",
                "NUM_WORKERS": "0",
            }
        ),
    )
