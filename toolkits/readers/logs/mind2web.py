"""Mind2Web's demonstrations (its JSON, a list of tasks with `actions` and `action_reprs`), as trajectory folders.

Its files hold pages as HTML and no pictures: `cleaned_html` stands where the tree stands, and a blank picture where a
screenshot would. What people did, such as `[button] Search -> CLICK`, are the replies; all of them are successes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_records
from data.outcome import Outcome, Verdict
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.steps import objects_in, text_field, text_of


def import_mind2web(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write a folder for every demonstration.

    Raises:
        UserError: naming file, record and step.
    """
    for where, entry in read_records(path):
        if not isinstance(entry, dict):
            raise UserError(f"{where}: not a demonstration")
        said = entry.get("action_reprs")
        actions = objects_in(f"{where}: actions", entry.get("actions"))
        if not isinstance(said, list) or len(said) != len(actions) or not all(isinstance(one, str) for one in said):
            raise UserError(f"{where}: its action_reprs are not one text for each of its actions")
        steps = [_step(one, action) for one, action in zip(said, actions, strict=True)]
        website = text_of(entry.get("website")) or "mind2web"
        task, run = tries.add("mind2web", text_field(where, entry, "confirmed_task"), website)
        outcome = Outcome(Verdict.SUCCESS, "a demonstration", judge="mind2web")
        write_folder(where, out_dir, ForeignTrajectory(task, run, "Mind2Web", steps, "", outcome))


def _step(said: str, action: Mapping[str, Any]) -> ForeignStep:
    return ForeignStep(text_of(action.get("cleaned_html")), said, None)
