"""The Django project of our board, run by the Python that django-machina is in."""
