"""WebArena and WebArena-Lite: their configuration files as tasks, and what their evaluators need from the browser."""
