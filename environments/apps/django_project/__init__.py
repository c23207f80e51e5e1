"""What applications made with Django have in common: settings, server, seed, login, restore.

Each has a folder `project/` with `settings.py`, `urls.py` and `filling.py`. The Python that the application is in runs
these and this folder's `common_settings.py`, `serve.py` and `fill.py`. The others are ours.
"""
