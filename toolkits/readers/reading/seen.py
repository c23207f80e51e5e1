"""What an agent was shown since it last acted: logs of others tell it piece by piece."""

import dataclasses
from pathlib import Path

from toolkits.readers.reading.folders import ForeignStep

ANSWERS = ("finish", "answer", "submit", "final_answer", "stop", "send_msg_to_user")
"""What agents call the function that ends a task with an answer, and where that stands in its arguments."""
ANSWER_FIELDS = ("content", "answer", "message", "text")


@dataclasses.dataclass
class Seen:
    """The page as text (`tree`), what else was said (`texts`), the last picture and address."""

    texts: list[str] = dataclasses.field(default_factory=list)
    image: Path | bytes | None = None
    url: str = ""
    tree: str = ""

    def add(self, text: str = "", image: Path | bytes | None = None, url: str = "", tree: str = "") -> None:
        """What is not given stays."""
        self.texts += [text] if text else []
        self.image = self.image if image is None else image
        self.url, self.tree = url or self.url, tree or self.tree

    def answered(self, reply: str) -> ForeignStep:
        """The step whose reply this is. The next one is shown the same picture and page until there are others; of the
        texts it was told already."""
        told = "\n".join(self.texts)
        tree, feedback = (self.tree, told) if self.tree else (told, "")
        self.texts = []
        return ForeignStep(tree, reply, self.image, self.url, feedback)
