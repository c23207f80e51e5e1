"""What account books have in common, whether Fava or hledger-web keeps them. No application: both import from here.

`entries.py` reads a book's file, `book.py` asks about its payments, `months.py` names months. Begin with `book.py`.
"""
