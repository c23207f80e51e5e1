"""Digi-Q on the phone, offline: at each step imitate the best of four candidate actions.

    NUM_TASKS=6 elcano run examples/digiq/phone.py --output_dir runs/phone/digiq

It starts from the policy that examples/digirl/phone_warm_start.py made, or from the Hugging Face folder that POLICY
names, and learns from its tries of NUM_TASKS tasks of each kind, three each, or from the judged trajectories in the
folder that TRAJECTORIES names. FAMILIES must be those of the warm start.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from elcano.recipe import Recipe, load_recipe, load_value

PHONE = ROOT / "examples" / "digirl" / "phone_warm_start.py"
WARM_START = ROOT / "runs" / "phone" / "warm_start" / "IL" / "policy"
MAKE_ONE = "elcano run examples/digirl/phone_warm_start.py --output_dir runs/phone/warm_start"


def recipe() -> Recipe:
    """The web's recipe with the phone's tasks and actions."""
    if not os.environ.get("POLICY"):
        if not (WARM_START / "config.json").exists():
            raise UserError(f"{WARM_START}: no policy to begin with; make one by {MAKE_ONE}, or set POLICY")
        os.environ["POLICY"] = str(WARM_START)
    web = load_recipe(ROOT / "examples" / "digiq" / "recipe.py")
    learning = dataclasses.replace(web, name="phone-digiq", rounds=[dataclasses.replace(web.rounds[0], **_learned())])
    return load_value(PHONE, "on_phone", Recipe, web=learning)


def _learned() -> dict[str, object]:
    if given := os.environ.get("TRAJECTORIES"):
        return {"trajectories": Path(given).resolve(), "tasks": ()}
    return {"tasks": load_value(PHONE, "explored", Path, count=int(os.environ.get("NUM_TASKS") or 6))}
