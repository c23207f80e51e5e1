"""GRPO on MiniWoB++, on two CPU cores, from the policy that `warm_start.py` made.

    elcano online examples/miniwob/recipe.py --output_dir runs/miniwob/grpo    # until Ctrl-C

WARM_START: another policy's folder. SEED: of the rollouts and of the trainer.
"""

import os
from pathlib import Path

from elcano.online import OnlineRecipe
from server.config import ServerConfig

TASKS = Path(__file__).resolve().parent / "tasks"
GROUPS = {"groups_per_step": 6, "max_lag": 2}


def online() -> OnlineRecipe:
    """Learning is as on the embedded websites (examples/online/recipe.py)."""
    seed = int(os.environ.get("SEED") or 0)
    return OnlineRecipe(
        policy=Path(os.environ.get("WARM_START") or "runs/miniwob/warm_start/IL/policy").resolve(),
        convertor="idefics2",
        tasks=TASKS / "train.jsonl",
        serving=ServerConfig(max_new_tokens=128),
        collection={
            **GROUPS,
            **{"env": "miniwob", "tree_visibility": "complete", "seed": seed},
            **{"group_size": 8, "temperature": 0.8, "top_k": 0},
            **{"max_iter": 8, "max_attached_imgs": 1, "num_sessions": 12},
        },
        training={
            **GROUPS,
            **{"algorithm": "grpo", "algorithm_options": "normalizer=trajectory", "lr": 1e-4, "adam_beta2": 0.95},
            **{"seed": seed, "batch_size": 2, "global_batch_size": 16},
            **{"tp": 1, "dp": 1, "pr": "fp32", "ac": "none", "seq_len": 4096, "image_num": 1, "num_workers": 0},
        },
    )
