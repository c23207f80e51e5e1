"""A real browser as an environment: chromium behind pipes, one connection of DevTools' protocol for all its tabs.

A task and actions come in, observations and feedback go out. Read `environment.py` first, then
`observation/observe.py` and `acting/actions.py`.
"""
