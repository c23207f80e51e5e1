"""One good file or folder of every kind that is read here, each with all that reads it. Read `specimen.py` first."""

from tests.adversary.specimens.checkpoints import CHECKPOINTS
from tests.adversary.specimens.imports import IMPORTS
from tests.adversary.specimens.interchange import INTERCHANGE
from tests.adversary.specimens.research import RESEARCH_SETS
from tests.adversary.specimens.shards import SHARDS
from tests.adversary.specimens.specimen import Specimen
from tests.adversary.specimens.tasks import TASKS
from tests.adversary.specimens.trajectories import TRAJECTORIES

SPECIMENS: dict[str, Specimen] = {
    **TASKS,
    **TRAJECTORIES,
    **IMPORTS,
    **SHARDS,
    **CHECKPOINTS,
    **INTERCHANGE,
    **RESEARCH_SETS,
}
