"""Foreign checkpoint and adapter folders: one reader, which converter, server and scorer ask before they do anything."""
