"""The phone's apps, one a file: `NAME`, and the screens by path; `home.py` lists them."""
