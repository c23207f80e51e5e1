"""The Django project of our shop, run by the Python that django-oscar is in."""
