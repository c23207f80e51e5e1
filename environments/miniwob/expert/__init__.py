"""The scripted expert of MiniWoB++: it has rules for pages that can be read as text; on others it gives up."""
