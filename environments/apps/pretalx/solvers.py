from environments.apps.pretalx.tasks import TEMPLATES
SOLVERS = {n: None for n in TEMPLATES}
