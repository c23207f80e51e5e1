"""The Django project of our conference, run by the Python that pretalx is in."""
