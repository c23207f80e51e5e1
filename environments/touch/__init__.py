"""A phone in Chromium: a touch screen with a home screen and apps, generated from a seed. Read `screen.py` first."""
