"""Training on megatron-core: shards and a checkpoint in, a better checkpoint out.

`train.py` is the loop of one rank: read it first. Beside it lie the scripts that people type. `launch/` starts ranks,
`batches/` makes micro-batches, `modules/` computes them, `algorithms/` are the losses, `loop/` takes the step,
`checkpoints/` saves it; `critics/` scores samples, `memory/` says what a layout needs.
`online/` is the trainer that lives on.
"""

import warnings

# Several modules of megatron-core do as they are imported; what a run computes with, `modules/kernels.py` says.
warnings.filterwarnings("ignore", message=".*Apex (is|are) not installed")
