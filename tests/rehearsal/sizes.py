"""How deep the rehearsed models are, and which of the published values differ.

Widths are the released models' (hidden 4096, feed-forward 14336, vocabulary 32003, SigLIP 1152, CLIP 1024). Training
keeps 18 bytes of a parameter, and vision tower and connector are whole on both ranks: idefics2's connector alone would
take 10.4 GiB of them with one of its three resampler layers. So idefics2 is trained in two runs on 24 GB, first
everything but the connector, then everything but the language model, in rows half as long (SEQ_LEN=4096, which its
samples do not fill either); LLaVA in one.
"""

from tests.rehearsal.checkpoints import Depth
from tests.rehearsal.stages import Size

_FEW = {"GLOBAL_BATCH_SIZE": "1", "TRAIN_ITERS": "2", "NUM_WORKERS": "1"}

SIZES = {
    "full": {
        "idefics2": Size(
            depth=Depth(language=1, vision=2, resampler=1),
            tiny=False,
            num_tasks=2,
            trainings=(
                {**_FEW, "FREEZE_CONNECTOR": "true"},
                {**_FEW, "FREEZE_LANGUAGE": "true", "SEQ_LEN": "4096"},
            ),
        ),
        "llava_next": Size(
            depth=Depth(language=1, vision=3, resampler=0),
            tiny=False,
            num_tasks=1,
            trainings=({**_FEW, "SEQ_LEN": "8192"},),  # twice as long takes four times as long here
        ),
    },
    "tiny": {
        name: Size(Depth(2, 3, 1), tiny=True, num_tasks=1, trainings=({**_FEW, "NUM_WORKERS": "0", "SEQ_LEN": "8192"},))
        for name in ("idefics2", "llava_next")
    },
}
