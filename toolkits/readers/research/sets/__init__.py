"""One module a published set: a file or folder of it in, its `Episode`s out. Read `agentnet.py` first."""
