"""What a reply may be, token by token: JSON by a schema, tool calls as the checkpoint writes them.

Read `grammar.py` first.
"""
