"""Browsers, the agent loop, teachers and judges: from tasks to judged trajectories."""
