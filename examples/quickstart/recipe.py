"""The quickstart's run: untrained, imitation learning, exploration and correction, on two CPU cores.

    bash examples/quickstart/run.sh
    NUM_ROUNDS=5 NUM_TEST_TASKS=300 CONTROLS=true LOOKS=true SEED=1 bash examples/quickstart/run.sh runs/seed-1

The first is the quick form: one round of exploration, tests on the first 45 of 300 tasks, three of each kind. The same
command with more in front of it goes on with a run that is there: up to four rounds of exploration, tests on more
tasks, controls, tests with gray screenshots and without trees. A run's seed stays. NUM_ROUNDS=1 ends after imitation
learning, whose policy the recipes of learning algorithms begin with. OVERLAP=false: no exploration begins before the
policy is tested.
"""

import dataclasses

from collection.config.commands import ExplorationConfig, RunConfig
from common.defaults import ROOT, STARTING_POLICY
from common.errors import UserError
from elcano.devices import num_gpus
from elcano.recipe import Recipe, Round
from elcano.resources import Needs, Resources
from elcano.variables import number, switch
from server.config import ServerConfig
from training.options import TrainingOptions

TASKS = ROOT / "data" / "tasks"
BROWSING = {"max_iter": 8, "max_attached_imgs": 1, "num_sessions": 16, "judge": "oracle"}


def recipe(num_test_tasks: int = 45) -> Recipe:
    """Published values are overridden only where a 2.7 M-parameter policy on a laptop needs others."""
    replicas = 1 if num_gpus() == 1 else 2  # on two GPUs, or two cores
    training = TrainingOptions(
        tp=1,
        dp=replicas,
        pr="fp32",
        ac="none",
        seq_len=2048,
        image_num=1,
        batch_size=2 // replicas,
        global_batch_size=2,
        lr=7e-4,
        min_lr=1e-5,
        adam_beta2=0.95,
        lr_warmup_iters=10,
        train_epochs=1,
        num_workers=0,
    )
    seed = number("SEED", 0)
    training = dataclasses.replace(training, seed=training.seed + seed)
    later = {  # rounds that go on from a policy that knows the sites
        "agent": "policy",
        "training": dataclasses.replace(training, lr=5e-4),
        "il_share": 1 / 8,
        "corrections": True,
        "before_share": 1 / 2,
    }
    rounds = [
        Round("IL", TASKS / "IL.jsonl", agent="teacher"),
        Round("optim-1", TASKS / "IL-2.jsonl", **later),
        Round("optim-2", tuple(TASKS / f"optim-{n}.jsonl" for n in (1, 2, 3)), **later),
        Round("optim-3", TASKS / "voyage" / "1.jsonl", **later),
        Round("optim-4", TASKS / "voyage" / "2.jsonl", **later),
    ]
    num_rounds = number("NUM_ROUNDS", 2)
    if not 1 <= num_rounds <= len(rounds):
        raise UserError(f"NUM_ROUNDS is 1 to {len(rounds)}, not {num_rounds}")
    return Recipe(
        name="quickstart",
        starting_policy=STARTING_POLICY,
        test_tasks=(TASKS / "test.jsonl", TASKS / "test-2.jsonl"),
        num_test_tasks=number("NUM_TEST_TASKS", num_test_tasks),
        overlap=switch("OVERLAP", "true"),
        controls=switch("CONTROLS"),
        looks=switch("LOOKS"),
        rounds=rounds[:num_rounds],
        teacher=ExplorationConfig(**BROWSING),
        exploration=ExplorationConfig(**BROWSING, temperature=0.7, seed=seed or None),
        testing=RunConfig(**BROWSING),
        serving=ServerConfig(dtype="float32", max_batch_size=16, max_new_tokens=128),
        training=training,
        reference=ROOT / "docs" / "results" / "quickstart_summary.json",
        needs=Needs(serving=Resources(num_cores=1)),
    )
