"""Foreign checkpoint and adapter folders: one reader, which converter and server ask before they do anything."""
