"""Actions: what an agent may do, on numbered elements or at points, whatever its model calls it.

In comes a reply or a recorded action, out comes a canonical one that an environment carries out; the ways that models
write them are in `data/action_spaces/`. Read `action.py` first, then `point_action.py`.
"""
