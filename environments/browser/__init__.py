"""The browser layer: chromium behind two pipes, over which one CDP connection per browser does all work."""
