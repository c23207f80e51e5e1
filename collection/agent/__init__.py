"""An agent on a task."""
