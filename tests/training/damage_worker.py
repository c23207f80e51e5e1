"""python damage_worker.py folder num_cases: loads damaged `torch_dist` checkpoints; prints whatever is no UserError."""

import collections
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from training.modules import kernels

kernels.prepare()

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core.dist_checkpointing import ShardedTensor  # noqa: E402

from common.errors import UserError  # noqa: E402
from tests.adversary.damage import damaged  # noqa: E402
from training.modules import torch_dist  # noqa: E402


def main(folder: Path, num_cases: int) -> None:
    torch_dist.initialize_alone()
    good, copy = folder / "good", folder / "copy"
    good.mkdir()
    torch_dist.save(content(), good)
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(num_cases):
        drawn = random.Random(seed)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(good, copy)
        path = drawn.choice(sorted(copy.iterdir()))
        path.write_bytes(damaged(path.read_bytes(), drawn))
        counts[outcome(copy, f"case {seed}, {path.name}")] += 1
    print(dict(counts))


def content() -> dict[str, Any]:
    tensors = {name: ShardedTensor.from_rank_offsets(name, torch.randn(4, 6)) for name in ("weight", "bias")}
    return {"model": tensors, "iteration": 3}


def outcome(folder: Path, case: str) -> str:
    try:
        torch_dist.tensor_shapes(folder)
        torch_dist.load(content(), folder)
        return "read"
    except UserError as error:
        return "refused" if str(folder) in str(error) and "\n" not in str(error) else f"{case}: {error}"
    except BaseException as error:
        return f"{case}: {type(error).__name__} {error}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
