"""Several server processes behind one port, on one machine or many.

Read `replicas.py` first; `fleet.py` keeps all of them at the wanted weights.
"""
