"""Chromium as processes: started, spoken to by DevTools' protocol over pipes, and reaped.

Read `launch.py` first, then `cdp.py`.
"""
