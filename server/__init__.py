"""The HTTP inference server: a checkpoint folder in, `/predict` and OpenAI's chat protocol out.

A request goes through `protocols/`, `service.py` and `engine/`; `cluster/` puts several servers behind one port. Read
`hf_online_server.py` first, then `service.py`.
"""
