"""A world that is no website: test_another_world.py copies this folder to environments/notepad/."""
