"""Started by torchrun: how much host memory a checkpoint takes on each data-parallel rank, and what it holds.

    torchrun --standalone --nproc-per-node 4 tests/training/save_worker.py OUT.json FOLDER {shared,upstream}

`upstream` gathers as megatron-core 0.16.1 does, to compare with. Rank 0 writes {"parameters", "added_bytes" by rank,
"same": whether every rank's state, loaded again, is what was saved}.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from common.processes import die_with_parent
from training.modules import kernels

die_with_parent()
warnings.simplefilter("ignore")
kernels.prepare()

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer  # noqa: E402

from models.registry import family  # noqa: E402
from training import layout  # noqa: E402
from training.checkpoints import torch_adam  # noqa: E402
from training.config import Config  # noqa: E402
from training.loop import optimization  # noqa: E402
from training.loop.distributed_state import METADATA  # noqa: E402
from training.loop.parallel import build_model, sharded_weights, unwrap  # noqa: E402
from training.modules import torch_dist  # noqa: E402

SHAPE = Path(__file__).resolve().parents[2] / "training" / "memory" / "shapes" / "idefics2-8b"


def main(output: Path, folder: Path, way: str) -> None:
    """Save and load the optimizer of a model of some 60 M parameters."""
    if way == "upstream":
        optimization.share_gathering = lambda optimizer: None
    config = Config(Path(), SHAPE, tp=1, do=True)
    layout.initialize(config.layout, seed=0)
    chunks = build_model(family(SHAPE), small_shape(), config.layout)
    optimizer = optimization.build_optimizer(config, chunks)
    torch_adam.prepare_loading(optimizer)
    [part] = [one for one in optimizer.chained_optimizers if isinstance(one, DistributedOptimizer)]
    for tensor in tensors(part):
        tensor.normal_()
    own = [tensor.clone() for tensor in tensors(part)]
    torch.distributed.barrier()
    before = resident()
    content = state_dict(optimizer, chunks, is_loading=False)
    torch_dist.save({"optimizer": content}, folder)
    added = torch.tensor([float(peak() - before)])
    del content
    for tensor in tensors(part):
        tensor.zero_()
    loaded = torch_dist.load({"optimizer": state_dict(optimizer, chunks, is_loading=True)}, folder)
    optimizer.load_state_dict(loaded["optimizer"])
    same = torch.tensor([float(all(map(torch.equal, own, tensors(part))))])
    gathered = [torch.zeros(1) for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(gathered, added)
    torch.distributed.all_reduce(same, torch.distributed.ReduceOp.MIN)
    if torch.distributed.get_rank() == 0:
        parameters = sum(parameter.numel() for parameter in chunks[0].parameters())
        added_bytes = [int(one) for one in gathered]
        output.write_text(json.dumps({"parameters": parameters, "added_bytes": added_bytes, "same": bool(same)}))
    layout.finalize()


def small_shape() -> Any:
    """idefics2-8b, narrow and shallow."""
    hf = family(SHAPE).read_config(SHAPE)
    sizes = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 8, "head_dim": 16}
    vars(hf.text_config).update(sizes)
    vars(hf.vision_config).update({"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2})
    vars(hf.perceiver_config).update({"hidden_size": 512})
    return hf


def state_dict(optimizer: Any, chunks: Any, is_loading: bool) -> dict[str, Any]:
    return optimizer.sharded_state_dict(sharded_weights(unwrap(chunks)), is_loading=is_loading, metadata=METADATA)


def tensors(part: DistributedOptimizer) -> list[torch.Tensor]:
    """fp32 weights and moments that this rank holds."""
    states = part.optimizer.state.items()
    return [tensor for main, state in states for tensor in (main.data, state["exp_avg"], state["exp_avg_sq"])]


def resident() -> int:
    """Bytes of this process in memory; its peak starts from here."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def peak() -> int:
    return status("VmHWM")


def status(name: str) -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
