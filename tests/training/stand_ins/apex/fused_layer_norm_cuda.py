"""The extension behind apex.normalization."""
