"""A process that has this folder on its PYTHONPATH finds the family as if it lay in the rooms."""

from pathlib import Path

import models
import training.modules
from models import registry

HERE = Path(__file__).resolve().parent
models.__path__.append(str(HERE / "models"))
training.modules.__path__.append(str(HERE / "training" / "modules"))
registry.NAMES += ("vipllava",)
