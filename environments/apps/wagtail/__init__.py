"""Wagtail: the website of a small town, with its pages in a tree, drafts, redirects, categories and people."""
