"""idefics2: what OpenWebVoyager's models see."""
