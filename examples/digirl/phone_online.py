"""Learn online on the phone, on two CPU cores, from the policy that `phone_warm_start.py` made:

    ALGORITHM=digirl elcano online examples/digirl/phone_online.py --output_dir runs/phone/digirl

ALGORITHM, SEED and MAX_LAG are those of examples/online/recipe.py, and so are the settings, for many kinds of tasks.
FAMILIES must be those of the warm start. WARM_START names the Hugging Face folder of another policy.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from elcano.online import OnlineRecipe, load_online_recipe
from elcano.recipe import load_recipe, load_value

WEB = ROOT / "examples" / "online" / "recipe.py"
PHONE = ROOT / "examples" / "digirl" / "phone_warm_start.py"
WARM_START = ROOT / "runs" / "phone" / "warm_start" / "IL" / "policy"


def online() -> OnlineRecipe:
    """DigiRL unless ALGORITHM says otherwise; the tasks are on phones that no demonstration and no test has."""
    os.environ.setdefault("ALGORITHM", "digirl")
    web = load_value(WEB, "of_many_kinds", OnlineRecipe, recipe=load_online_recipe(WEB))
    phone = load_recipe(PHONE)
    browsing = ("env", "action_space", "max_iter")
    return dataclasses.replace(
        web,
        policy=Path(os.environ.get("WARM_START") or WARM_START).resolve(),
        tasks=load_value(PHONE, "explored", Path),
        collection={**web.collection, **{name: getattr(phone.exploration, name) for name in browsing}},
    )
