"""The viewer: what agents saw, thought and were worth, live and afterwards, in a browser (`elcano view`)."""
