"""Real web applications that nobody here wrote: installed from package registries, reset in a moment, judged by state.

Every application is a folder with the same files: `install.py` (its pinned packages), `seed.py` (what it holds at the
beginning), `start.py` (its server), `snapshot.py` (put back, read out), `check.py` (the state as records), `tasks.py`
(what may be asked) and `solvers.py` (how an expert does it). Begin with `application.py`.
"""
