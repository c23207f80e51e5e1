"""What toolkits/inspect_data.py leaves as JSON: the mark by which the viewer knows it."""

MARK = "elcano data report"
"""The value of `kind`. Beside it stand `data` (what was looked at), numbers by their names, and `tiles`: `id`, `action`
and `jpeg` (base64) of screenshots spread over the data."""
