"""Started by torchrun: load a Megatron checkpoint in several layouts and save it again from each.

    torchrun --standalone --nproc-per-node 8 tests/toolkits/reshard_worker.py MEGATRON_DIR LAYOUTS ...

LAYOUTS are like `2x1`, tensor by pipeline parallel, or `2x2x3` where the first stage has three layers; the ranks that
are left are data-parallel. `MEGATRON_DIR-2x1` is what was saved at that layout.
"""

import shutil
import sys
import warnings
from pathlib import Path

from common.processes import die_with_parent
from training.modules import kernels
from training.modules.registry import model_class

die_with_parent()
warnings.simplefilter("ignore")
kernels.prepare()

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core import parallel_state  # noqa: E402

from data.checkpoint_folder import RELEASE, copy_hf_files, find_weights, write_tracker  # noqa: E402
from models.registry import family  # noqa: E402
from training import layout  # noqa: E402
from training.checkpoints import checkpoint  # noqa: E402
from training.loop.parallel import sharded_weights  # noqa: E402
from training.modules import torch_dist  # noqa: E402
from training.modules.trainable import EVERYTHING  # noqa: E402


def reshard(folder: Path, text: str) -> None:
    tensor, pipeline, *first = (int(number) for number in text.split("x"))
    spread = layout.Layout(tensor_parallel=tensor, pipeline_parallel=pipeline, first_stage_layers=sum(first))
    layout.initialize(spread, seed=0)
    kind = family(folder)
    model = model_class(kind)(kind.read_config(folder), spread, EVERYTHING)
    if any("bfloat16" in str(dtype) for _, dtype in torch_dist.tensor_shapes(find_weights(folder)[0]).values()):
        model.bfloat16()
    checkpoint.load_model([model], find_weights(folder)[0])
    destination = folder.with_name(f"{folder.name}-{text}")
    if torch.distributed.get_rank() == 0:
        shutil.rmtree(destination, ignore_errors=True)
        (destination / RELEASE).mkdir(parents=True)
    torch.distributed.barrier()
    torch_dist.save({"model": sharded_weights([model])}, destination / RELEASE)
    torch.distributed.barrier()
    if torch.distributed.get_rank() == 0:
        copy_hf_files(folder, destination)
        write_tracker(destination, RELEASE)
    torch.distributed.barrier()
    parallel_state.destroy_model_parallel()


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    for folder in sys.argv[1].split(","):
        for text in sys.argv[2:]:
            reshard(Path(folder), text)
    torch.distributed.destroy_process_group()
