"""Texts from outside cut to a number of characters."""


def cut_middle(text: str, most: int) -> str:
    """`text`, or its beginning and end and between them how many characters were left out: `most` and that note."""
    if len(text) <= most:
        return text
    begin, end = most - most // 3, most // 3
    return f"{text[:begin]}{left_out(len(text) - begin - end)}{text[len(text) - end :]}"


def left_out(number: int) -> str:
    """The note of that many characters, with a space around it."""
    return f" [... {number:,} characters cut ...] "
