"""HTTP: answers bounded in seconds and bytes, pauses between tries, and stand-ins that serve OpenAI's protocol.

In comes an address, out comes an answer or an error after a known time. Read `bounded_http.py` first, then `retry.py`.
"""
