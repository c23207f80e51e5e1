"""The standing sceptic: attacks on every wall, each with a control that shows that it works where the wall is missing.

bash tests/adversary.sh
"""
