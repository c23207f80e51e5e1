"""DigiRL's task sets: a text file with an instruction a line, called `general_train.txt` or the like; and how many
steps its authors allow."""

import re
from pathlib import Path

from common.errors import UserError
from data.task import Task
from environments.android.environment import HOME

STEP_LIMITS = {"general": 10, "webshop": 20}
_NAME = re.compile(r"(?P<set>[A-Za-z0-9-]+)_(?P<split>train|test)")


def read_task_set(path: Path) -> list[Task]:
    """A task a line, in the file's order, with ids such as `General-test--000`. What stands twice is taken twice.

    Raises:
        UserError: there is no such file, no task in it, or a line that is no text.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: no task set ({error}); give a text file with an instruction a line") from None
    named = _NAME.fullmatch(path.stem)
    family, limit = (named["set"], STEP_LIMITS.get(named["set"])) if named else (path.stem, None)
    name = f"{family.capitalize()}-{named['split']}" if named else re.sub(r"\W", "-", path.stem)
    questions = [line.strip() for line in lines if line.strip()]
    if not questions:
        raise UserError(f"{path}: holds no task")
    return [
        Task(f"{name}--{number:03d}", question, HOME, web_name=f"android.{family}", max_steps=limit)
        for number, question in enumerate(questions)
    ]
