class FusibleOperation:
    """Named in annotations."""


class Sequential:
    """Named in annotations."""
