"""OpenAI's chat protocol: which fields are served, and how a reply is written.

Read `protocol.py` first.
"""
