"""MiniWoB++: its pages and their seeds as tasks."""
