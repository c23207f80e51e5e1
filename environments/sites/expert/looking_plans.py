"""Plans for what only a picture shows (`sites/gallery`)."""

from collections.abc import Callable

from environments.sites.expert.reading import Page
from environments.sites.expert.rules import Move, Rule, click_element, first, on, tell, type_into
from environments.sites.expert.seeing import Figure, figures

_BAR_UNIT = 24  # pixels


def _say(goal: str, look: Callable[[tuple[Figure, ...]], str]) -> Rule:
    """Answer with what the page's picture shows; nothing when it shows nothing that can be told."""

    def apply(page: Page) -> Move | None:
        value = look(figures(page.screenshot)) if page.screenshot else ""
        return Move(f"The picture shows '{value}'.", f"ANSWER; {value}", goal) if value else None

    return apply


def _pick(color: str, shape: str) -> Rule:
    """Click the exhibit that shows it: pictures and links stand in the same order."""

    def apply(page: Page) -> Move | None:
        top = page.find(("heading",), "Exhibits")
        links = [element for element in page.elements if top and element.role == "link" and element.label > top.label]
        shown = [(figure.color, figure.shape) for figure in figures(page.screenshot)] if page.screenshot else []
        place = shown.index((color, shape)) if (color, shape) in shown else len(links)
        return click_element(links[place], f"{color} {shape}") if place < len(links) else None

    return apply


def _search(name: str) -> Rule:
    return type_into("Search the gallery", name)


def _look_color(exhibit: str) -> Rule:
    return first(on(exhibit, _say("color", lambda seen: seen[0].color if seen else "")), _search(exhibit))


def _look_shape(exhibit: str) -> Rule:
    return first(on(exhibit, _say("shape", lambda seen: seen[0].shape if seen else "")), _search(exhibit))


def _look_choose(room: str, color: str, shape: str) -> Rule:
    return first(tell("Year"), on(room, _pick(color, shape)), _search(room))


def _look_chart(exhibit: str, color: str) -> Rule:
    def value(seen: tuple[Figure, ...]) -> str:
        return next((str(round(bar.height / _BAR_UNIT)) for bar in seen if bar.color == color), "")

    return first(on(exhibit, _say(color, value)), _search(exhibit))


def _look_lamp(exhibit: str) -> Rule:
    return first(on(exhibit, _say("lamp", lambda seen: "on" if seen else "off")), _search(exhibit))


# For each family what is needed on the way, and the plan.
LOOKING_PLANS: dict[str, tuple[tuple[str, ...], Callable[..., Rule]]] = {
    "Look-color": (("{exhibit}", "color"), _look_color),
    "Look-shape": (("{exhibit}", "shape"), _look_shape),
    "Look-choose": (("{room}", "{color} {shape}", "Year"), _look_choose),
    "Look-chart": (("{exhibit}", "{color}"), _look_chart),
    "Look-lamp": (("{exhibit}", "lamp"), _look_lamp),
}
