"""What other projects' agents and recorders leave behind: result folders, histories, rollouts, replay buffers.

Each file is one project's layout. Read `browser_use.py` first.
"""
