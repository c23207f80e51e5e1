"""What the expert sees, what it does there, and the moves that its rules share."""

import dataclasses
from collections.abc import Mapping, Sequence

from environments.sites.expert.reading import Element, Page


@dataclasses.dataclass(frozen=True)
class Move:
    """What to do and why. `needs` are the names that are left on the way, this step's first."""

    action: str
    reason: str = ""
    needs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Seen:
    """The newest page, and the expert's actions so far."""

    page: Page
    actions: Sequence[str]

    @property
    def step(self) -> int:
        return len(self.actions)

    def all(self, *roles: str) -> list[Element]:
        """Every element of these roles."""
        return [element for element in self.page.elements if element.role in roles]

    def find(self, name: str, *roles: str) -> Element | None:
        """The last element of that name: the task's own words come first."""
        found = [each for each in (self.all(*roles) if roles else self.page.elements) if same(each.name, name)]
        return found[-1] if found else None

    def click(self, name: str, *roles: str, needs: tuple[str, ...] = ()) -> Move | None:
        """Click what bears that name, if it is there."""
        element = self.find(name, *roles)
        return element and click(element, needs or (name,))

    def in_turn(self, names: Sequence[str], *roles: str, button: str = "Submit") -> Move | None:
        """Click what bears these names, one a step, then the button."""
        needs = (*names, button)[self.step :]
        return self.click(needs[0], *(roles if len(needs) > 1 else ("button",)), needs=needs) if needs else None

    def fill(self, texts: Mapping[str, str], button: str = "Submit") -> Move | None:
        """Type each text into the field of that name, one a step, then press the button."""
        needs = (*texts.values(), button)[self.step :]
        if len(needs) < 2:
            return self.click(button, "button", needs=needs)
        name = list(texts)[self.step]
        field = self._field(name)
        return field and type_into(field, name or field.role, needs)

    def _field(self, name: str) -> Element | None:
        """The first of that name, or, as many have none, the one that follows a text of that name."""
        fields = self.all("textbox", "spinbutton")
        if named := [field for field in fields if field.name == name]:
            return named[0]
        label = self.find(name, "StaticText")
        return next((field for field in fields if label and field.label > label.label), None)


def click(element: Element, needs: tuple[str, ...] = ()) -> Move:
    return Move(f"Click [{element.label}]", f"I should click '{element.name.strip() or element.role}'.", needs)


def type_into(field: Element, name: str, needs: tuple[str, ...]) -> Move:
    """Type what is needed first into the field, which goes by this name."""
    return Move(f"Type [{field.label}]; {needs[0]}", f"I should type '{needs[0]}' into '{name}'.", needs)


def same(name: str, wanted: str) -> bool:
    """Whether two names differ in capitals, blanks and full stops alone."""
    return name.strip().strip(".,").lower() == wanted.strip().strip(".,").lower()
