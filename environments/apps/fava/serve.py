"""Serves a ledger with Fava; run by the Python that Fava is in: serve.py LEDGER PORT

A ledger may name modules to load and files to include, and whoever edits it could reach the machine by them. Here
nothing but accounts and entries is taken from it.
"""

import sys

from beancount.core.data import Custom, Document
from beancount.parser import parser

_parse_file = parser.parse_file


def parse_file(*args, **options):
    entries, errors, found = _parse_file(*args, **options)
    found.update(include=[], plugin=[], documents=[], insert_pythonpath=False)
    return [entry for entry in entries if not isinstance(entry, (Custom, Document))], errors, found


parser.parse_file = parse_file

from fava.cli import main  # noqa: E402 - it loads ledgers by what stands above

ledger, port = sys.argv[1:]
main(["--host", "127.0.0.1", "--port", port, "--poll-watcher", ledger])
