"""The `elcano` command: recipes and rounds, run as the commands a person would type."""
