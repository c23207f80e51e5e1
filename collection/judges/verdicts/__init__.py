"""What a judge is told and what its reply means.

Read `verdict.py` first, then `prompts.py`.
"""
