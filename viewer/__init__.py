"""The viewer: what agents saw, thought and were worth, live and afterwards, in a browser (`elcano view`).

It reads the folders that other rooms leave, and writes only labels. Read `app.py` first, then `answers.py`, `catalog/`
for what was found on disk and `trajectory/` for the page of one.
"""
