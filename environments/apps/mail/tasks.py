from environments.apps.templates import Instance, Template, cannot
TEMPLATES = {"x": Template("impossible", ("Do nothing.", "Do not."), lambda state, rng: Instance({}, cannot()))}
