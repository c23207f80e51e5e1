"""The viewer: what agents saw, thought and were worth, live and afterwards, in a browser (`elcano view`).

It reads the folders that other rooms leave, and writes only labels. Read `app.py` first, then `index.py` for the
table of trajectories and `trajectory/` for the page of one.
"""
