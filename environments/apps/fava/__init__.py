"""Fava on a beancount ledger: an account book."""
