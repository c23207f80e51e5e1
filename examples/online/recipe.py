"""Learn online on the embedded websites, on two CPU cores, from the policy that `warm_start.py` made.

bash examples/online/run.sh makes it and begins; with a policy of your own:
WARM_START=FOLDER elcano online examples/online/recipe.py --output_dir runs/online
"""

import os
from pathlib import Path

from common.defaults import EXPLORATION_TASKS
from elcano.online import OnlineRecipe
from server.config import ServerConfig


def online() -> OnlineRecipe:
    """Filtered BC; ALGORITHM=grpo in the environment for GRPO."""
    return OnlineRecipe(
        policy=Path(os.environ.get("WARM_START") or "runs/online/warm_start/IL/policy").resolve(),
        convertor="idefics2",
        tasks=EXPLORATION_TASKS,
        serving=ServerConfig(max_new_tokens=128),
        collection={
            **{"group_size": 6, "groups_per_step": 4, "max_lag": 2, "temperature": 0.8, "top_k": 0, "seed": 0},
            **{"max_iter": 8, "max_attached_imgs": 1, "num_sessions": 12},
        },
        training={
            **{"algorithm": os.environ.get("ALGORITHM") or "filtered_bc", "groups_per_step": 4, "max_lag": 2},
            **{"lr": 2e-4, "global_batch_size": 8, "batch_size": 2, "adam_beta2": 0.95},
            **{"tp": 1, "dp": 1, "pr": "fp32", "ac": "none", "seq_len": 4096, "image_num": 1, "num_workers": 0},
        },
    )
