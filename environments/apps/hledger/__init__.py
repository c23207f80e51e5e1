"""hledger-web on a journal: double-entry bookkeeping in which nothing is ever taken out again."""
