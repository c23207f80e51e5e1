"""Pages drawn by seed: controls in nested frames, shadow roots, turned, scaled, zoomed, clipped, scrolled, covered, in
pictures, behind labels, without boxes. Each control is called `c1`, `c2`, ... and bears that as `data-n`."""

import html
import itertools
import random
from collections.abc import Iterator

COLUMNS, ROWS, WIDTH, HEIGHT = 4, 4, 230, 165
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='160' height='100'/>"


class Drawn:
    """One page. `html` is the document; the same seed draws the same."""

    def __init__(self, seed: int):
        self._random, self._numbers = random.Random(seed), itertools.count(1)
        cells = "".join(self._cells())
        self.html = f"<!doctype html><title>Page</title><body style='margin:0'>{cells}</body>"

    def _cells(self) -> Iterator[str]:
        for row in range(ROWS):
            for column in range(COLUMNS):
                place = f"left:{12 + 250 * column}px; top:{10 + 188 * row}px; width:{WIDTH}px; height:{HEIGHT}px"
                yield f"<div style='position:absolute; {place}'>{self._thing(2)}</div>"

    def _thing(self, depth: int) -> str:
        plain = [self._controls, self._wrapped, self._labels, self._picture, self._contents, self._svg, self._covered]
        around = [self._frame, self._shadow, self._turned, self._zoomed, self._clipped, self._sticky, self._portal]
        return self._random.choice([*plain, *around * 2] if depth else plain)(depth)

    def _inner(self, depth: int) -> str:
        return self._thing(depth - 1) if depth and self._random.random() < 0.6 else self._controls(depth)

    def _name(self) -> str:
        return f"c{next(self._numbers)}"

    def _controls(self, depth: int) -> str:
        return " ".join(self._control() for _ in range(self._random.randint(1, 3)))

    def _control(self) -> str:
        name = self._name()
        kinds = (
            f"<button data-n={name}>{name}</button>",
            f"<a href='#x' data-n={name}>{name}</a>",
            f"<input aria-label={name} data-n={name} size=6>",
            f"<input type=checkbox aria-label={name} data-n={name}>",
            f"<select aria-label={name} data-n={name}><option>one<option>two</select>",
            f"<textarea aria-label={name} data-n={name} rows=2 cols=6></textarea>",
            f"<div role=button tabindex=0 style='cursor:pointer; width:60px' data-n={name}>{name}</div>",
            f"<button style='padding:12px' data-n={name}><span><b>{name}</b></span></button>",
        )
        return self._random.choice(kinds)

    def _wrapped(self, depth: int) -> str:
        name = self._name()
        return (
            f"<p style='width:{self._random.randint(90, 200)}px'>{'word ' * self._random.randint(1, 5)}"
            f"<a href='#x' data-n={name}>{name}</a> and <a href='#y' data-n=w{name}>w{name} some more words</a> after."
        )

    def _labels(self, depth: int) -> str:
        hide = self._random.choice(
            (
                "display:none",
                "opacity:0",
                "position:absolute; left:-9999px",
                "position:absolute; clip:rect(0 0 0 0); width:1px; height:1px",
                "appearance:none; width:0; height:0; margin:0",
                "visibility:hidden",
            )
        )
        labels = []
        for _ in range(self._random.randint(1, 3)):
            name, kind = self._name(), self._random.choice(("radio", "checkbox"))
            control = f"<input type={kind} name=group id={name} style='{hide}' aria-label={name} data-n={name}>"
            pad = f"style='display:inline-block; padding:{self._random.randint(2, 12)}px'"
            inside, beside = (
                f"<label {pad} data-n={name}>{control}{name}</label>",
                f"<label {pad} for={name} data-n={name}>",
            )
            labels.append(self._random.choice((inside, f"{control}{beside}{name}</label>")))
        return "".join(labels)

    def _picture(self, depth: int) -> str:
        names, number = [self._name() for _ in range(3)], next(self._numbers)
        shapes = (("rect", "5,5,60,45"), ("circle", "110,40,30"), ("poly", "0,100,0,55,12,55,12,88,150,88,150,100"))
        areas = "".join(
            f"<area shape={shape} coords='{coords}' href='#{name}' alt={name} data-n={name}>"
            for name, (shape, coords) in zip(names, shapes, strict=True)
        )
        style = self._random.choice(
            ("", "border:6px solid; padding:5px", "width:120px; height:75px; box-sizing:border-box")
        )
        picture = f'<img src="{PICTURE}" usemap="#m{number}" width=160 height=100 style="{style}">'
        return f"{picture}<map name=m{number}>{areas}</map>"

    def _contents(self, depth: int) -> str:
        name, other = self._name(), self._name()
        return (
            f"<button style='display:contents' data-n={name}>{name}</button> <a href='#'"
            f" style='display:block; height:0' data-n={other}><span style='float:left; clear:both'>{other}</span></a>"
        )

    def _svg(self, depth: int) -> str:
        name = self._name()
        return (
            f"<svg width=90 height=60><a href='#x' aria-label={name} data-n={name}>"
            f"<rect x=10 y=10 width={self._random.randint(20, 70)} height=30 fill=teal /></a></svg>"
        )

    def _covered(self, depth: int) -> str:
        cover = self._random.choice(("", "pointer-events:none;"))
        return (
            f"<div style='position:relative'>{self._controls(0)}<div style='position:absolute; {cover} background:tan;"
            f" left:{self._random.randint(-30, 60)}px; top:-5px; width:70px; height:60px'></div></div>"
        )

    def _frame(self, depth: int) -> str:
        style = f"border:{self._random.choice((0, 2, 5))}px solid; padding:{self._random.choice((0, 4))}px"
        scroll = f"scrollTo({self._random.choice((0, 30))}, {self._random.choice((0, 60))})"
        inside = (
            f"<body style='margin:{self._random.choice((0, 8))}px; height:600px; width:400px'>{self._inner(depth)}"
            f"<p>{self._controls(0)}</p><script>{scroll}</script>"
        )
        style = f"width:180px; height:110px; {style}; {self._transform()}"
        return f'<iframe style="{style}" srcdoc="{html.escape(inside)}"></iframe>'

    def _transform(self) -> str:
        draw = self._random
        return draw.choice(
            (
                "",
                f"transform:scale({draw.uniform(0.5, 1.2):.2f}); transform-origin:0 0",
                f"transform:rotate({draw.randint(-40, 40)}deg)",
                f"transform:skewX({draw.randint(-20, 20)}deg) scaleY(.9)",
                f"zoom:{draw.choice((0.75, 1.1, 1.25))}",
                f"transform:perspective(500px) rotateY({draw.randint(-40, 40)}deg)",
            )
        )

    def _shadow(self, depth: int) -> str:
        mode, inner = self._random.choice(("open", "closed")), self._inner(depth)
        light = f"<b>{self._controls(0)}</b>" if self._random.random() < 0.5 else ""
        slot = "<slot></slot>" if light else ""
        tag = self._random.choice(("x-box", "div"))
        return f"<{tag} style='display:block'>{light}<template shadowrootmode={mode}>{inner}{slot}</template></{tag}>"

    def _turned(self, depth: int) -> str:
        return f"<div style='{self._transform()}'>{self._inner(depth)}</div>"

    def _zoomed(self, depth: int) -> str:
        return f"<div style='zoom:{self._random.choice((0.8, 1.2))}'>{self._inner(depth)}</div>"

    def _clipped(self, depth: int) -> str:
        overflow = self._random.choice(("hidden", "auto", "clip"))
        scroll = f"<script>document.currentScript.parentNode.scrollTop = {self._random.choice((0, 25, 70))}</script>"
        size = f"height:{self._random.randint(30, 90)}px; width:{self._random.randint(60, 200)}px"
        inner = f"{self._inner(depth)}<p>{self._controls(0)}</p><p>{self._controls(0)}</p>"
        return f"<div style='overflow:{overflow}; {size}; border:1px solid'>{inner}{scroll}</div>"

    def _sticky(self, depth: int) -> str:
        return (
            f"<div style='overflow:auto; height:120px'><div style='position:sticky; top:0; background:#eee; z-index:1'>"
            f"{self._controls(0)}</div><p>{self._inner(depth)}</p><p style='height:200px'>{self._controls(0)}</p>"
            f"<script>document.currentScript.parentNode.scrollTop = {self._random.choice((0, 20))}</script></div>"
        )

    def _portal(self, depth: int) -> str:
        name = f"p{next(self._numbers)}"
        move = (
            f"const it = document.getElementById('{name}');"
            f"const at = it.parentNode.getBoundingClientRect?.() ?? new DOMRect();"
            f"it.style.left = at.left + 'px'; it.style.top = at.top + 'px'; document.body.append(it)"
        )
        return (
            f"<div id={name} style='position:fixed; z-index:5'>{self._controls(0)}</div><p style='margin-top:40px'>"
            f"{self._inner(depth)}</p><script>{move}</script>"
        )
