"""How long a recipe takes on which machines, by what was measured on others."""
