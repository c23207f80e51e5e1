"""Documents drawn by seed that try to have a click or a text reach something else than what was chosen.

Overlays, moving and swapping elements, frames of two sites in transforms, lists that cut off, that use their rows again
or are drawn anew, shadow roots, portals, nested controls, focus thieves. Each event that reaches the page is noted by
the page itself, with the name of the control it reached.
"""

import random

# What reached what: [kind, name of the control or of the tag], kept where our scripts can read it.
LEDGER = """<script>
const ledger = []; const note = (kind, name) => {
    ledger.push([kind, name]); document.documentElement.setAttribute("ledger", JSON.stringify(ledger)) };
const control = (node) => { for (; node; node = node.assignedSlot ?? node.parentElement ?? node.getRootNode().host)
    if (node.dataset?.c) return node.dataset.c === "add" ? "add-" + node.parentNode.firstChild.textContent
    : node.dataset.c; return null };
const hear = (root, isInner) => { for (const kind of
    ["pointerdown", "mousedown", "click", "dblclick", "contextmenu", "drop", "keydown", "input", "change"])
    root.addEventListener(kind, (event) => {
        const first = event.composedPath()[0], name = control(first);
        if (!event.isTrusted || (!isInner && first.closed)) return;
        if (kind === "click" && name === null) return;
        if (kind === "change" && !["checkbox", "radio", "select-one", "range"].includes(first.type)) return;
        note(kind, name ?? "<" + (first.tagName ?? "document") + ">") }, true) };
hear(window, false);
</script>"""
STYLE = """<style>body { margin: 8px; font: 14px sans-serif } button, input, select, textarea, a, [role=button] {
    min-width: 60px; min-height: 18px; margin: 2px } .over { position: fixed; z-index: 9; background: #fed }</style>"""


class Drawing:
    """One document: controls have the names that they show, from c0 on."""

    def __init__(self, seed: str, depth: int):
        self.random, self.seed, self.depth = random.Random(seed), seed, depth
        self.number = self.random.randrange(100) * 100
        self.scripts: list[str] = []

    def page(self) -> str:
        body = "".join(self._block() for _ in range(self.random.randint(2, 5)))
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            self.random.choice(
                [
                    self._moves,
                    self._swaps,
                    self._covers,
                    self._thief,
                    self._scrolls,
                    self._redraws,
                    self._reuses,
                    self._portal,
                ]
            )()
        scripts = "".join(f"<script>{{ {script} }}</script>" for script in self.scripts)
        return f"<!doctype html><title>T</title>{STYLE}{LEDGER}<div id=app>{body}</div>{scripts}"

    def _name(self) -> str:
        self.number += 1
        return f"c{self.number}"

    def _control(self) -> str:
        name, kind = self._name(), self.random.randrange(14)
        c = f"data-c={name}"
        match kind:
            case 0 | 1:
                return f"<button {c}>{name}</button>"
            case 2:
                return f"<a {c} href='#x'>{name}</a>"
            case 3 | 4:
                return f"<input {c} aria-label={name}>"
            case 5:
                return f"<textarea {c} aria-label={name}></textarea>"
            case 6:
                return f"<label {c}><input type=checkbox style='position:absolute;opacity:0'>{name}</label>"
            case 7:
                inner = self._name()
                nested = f"<button data-c={inner}>{inner}</button>"
                return f"<a {c} href='#x' style='display:inline-block;padding:8px'>{name} {nested}</a>"
            case 8:
                inner = f"<span style='pointer-events:none'>{name}</span>"
                return f"<div {c} role=button tabindex=0 style='width:90px'>{inner}</div>"
            case 9:
                return f"<span style='display:inline-block'>{self._shadow(name)}</span>"
            case 10:
                return f"<button {c} style='pointer-events:none'>{name}</button>"
            case 11:
                size = "width:120px; min-height:20px"
                return f"<div {c} contenteditable role=textbox aria-label={name} style='{size}'></div>"
            case 12:
                return f"<button {c} disabled>{name}</button>"
            case _:
                return f"<select {c} aria-label={name}><option>one<option>two</select>"

    def _shadow(self, name: str) -> str:
        mode = self.random.choice(["open", "closed", "closed"])
        inner = self.random.choice(
            [f"<button data-c={name}>{name}</button>", f"<input data-c={name} aria-label={name}>"]
        )
        self.scripts.append(
            f"""const host = document.getElementById("h{name}"); if (host) {{ const root = host.attachShadow({{mode:
            "{mode}"}}); root.innerHTML = "{inner}";
            if ("{mode}" === "closed") {{ host.closed = true; hear(root, true) }} }}"""
        )
        return f"<div id=h{name}></div>"

    def _controls(self, most: int = 4) -> str:
        return " ".join(self._control() for _ in range(self.random.randint(1, most)))

    def _block(self) -> str:
        draw, inner = self.random, self._controls()
        match draw.randrange(9):
            case 0:
                return f"<p>{inner}</p>"
            case 1 | 2:  # a list that cuts off, in another one
                rows = "".join(f"<div style='height:30px'>{self._control()}</div>" for _ in range(draw.randint(3, 9)))
                height, cut = draw.choice([40, 70, 110]), draw.choice(["auto", "auto", "scroll", "hidden", "clip"])
                box = f"<div style='height:{height}px; width:260px; overflow:{cut}'>{rows}</div>"
                return (
                    f"<div style='height:80px; overflow:auto'>{box}<p>{inner}</p></div>" if draw.random() < 0.4 else box
                )
            case 3:
                turn = f"rotate({draw.randint(-40, 40)}deg) scale({draw.choice([0.4, 0.7, 1, 1.3])})"
                return f"<div style='transform:{turn}; width:300px'>{inner}</div>"
            case 4 | 5:
                return self._frame()
            case 6:
                head = f"<div style='position:sticky; top:0; background:#eee; height:35px'>{self._control()}</div>"
                rows = "<br>".join(self._control() for _ in range(8))
                return f"<div style='height:90px; overflow:auto'>{head}{rows}</div>"
            case 7:
                return self._rows()
            case _:
                return f"<div style='clip-path:inset(0 {draw.randint(0, 90)}% 0 0); width:300px'>{inner}</div>"

    def _frame(self) -> str:
        if self.depth >= 2:
            return f"<p>{self._controls()}</p>"
        seed = f"{self.seed}.{self.random.randrange(10**6)}"
        host = self.random.choice(["", "", "http://other.localhost:PORT"])
        turn = self.random.choice(
            ["", f"transform:rotate({self.random.randint(-30, 30)}deg) scale(.8)", "transform:scale(.5)"]
        )
        frame = f"<iframe src='{host}/{seed}' style='width:320px; height:150px; border:2px solid; {turn}'></iframe>"
        return f"<div style='height:90px; overflow:auto'>{frame}</div>" if self.random.random() < 0.4 else frame

    def _rows(self) -> str:
        """Rows with a button each that reads the same."""
        rows = "".join(
            f"<div><b data-c={name}>{name}</b> <button data-c=add>Add</button></div>"
            for name in (self._name() for _ in range(4))
        )
        self.scripts.append(
            f"""const box = document.getElementById("rows{self.number}"); const look = box?.innerHTML;
            if (box && {self.random.random()} < .7) setInterval(() => {{
            box.innerHTML = look; if (Math.random() < .4) box.append(box.firstChild);
            if (Math.random() < .3) box.firstChild.remove() }}, {self.random.choice([20, 60, 200])})"""
        )
        return f"<div id=rows{self.number}>{rows}</div>"

    def _any(self) -> str:
        return f"document.querySelectorAll('[data-c]')[{self.random.randrange(12)}]"

    def _moves(self) -> None:
        way, period = self.random.choice([("left", 3), ("top", 2), ("left", 40)]), self.random.choice([4, 16, 50, 300])
        self.scripts.append(
            f"""const it = {self._any()}; let n = 0; if (it) setInterval(() => {{ it.style.position = "relative";
            it.style.{way[0]} = (n++ % 20) * {way[1]} + "px" }}, {period})"""
        )

    def _swaps(self) -> None:
        when = self.random.choice(
            ["pointermove", "mouseover", "pointerdown", "mousedown", "scroll", "focusin", "mouseup"]
        )
        self.scripts.append(
            f"""addEventListener("{when}", () => {{ const all = [...document.querySelectorAll("[data-c]")];
            const [one, other] = [{self._any()}, {self._any()}];
            if (one && other && !one.contains(other) && !other.contains(one)) {{ const mark = new Text();
            one.replaceWith(mark); other.replaceWith(one); mark.replaceWith(other) }} }}, true)"""
        )

    def _covers(self) -> None:
        left, top, width, height = (self.random.randrange(0, 500) for _ in range(4))
        when = self.random.choice(["0", "0", "50", "400", "pointermove", "scroll", "focusin", "input", "flicker"])
        passes = self.random.choice(["", "", "pointer-events:none;"])
        show = f"""const over = document.createElement("div");
            over.className = "over"; over.dataset.c = over.textContent = "{self._name()}";
            over.style = "{passes} left:{left}px; top:{top}px; width:{width}px; height:{height}px";
            const show = () => document.body.append(over);"""
        if when == "flicker":
            show += f"setInterval(() => over.isConnected ? over.remove() : show(), {self.random.choice([5, 17, 60])})"
        elif when.isdigit():
            show += f"setTimeout(show, {when})"
        else:
            show += f"""addEventListener("{when}", show, true)"""
        self.scripts.append(show)

    def _thief(self) -> None:
        self.number += 1
        how = self.random.choice(
            [
                "addEventListener('focusin', (event) => event.target !== it && it.focus())",
                "addEventListener('input', (event) => event.target !== it && setTimeout(() => it.focus(), DELAY))",
                "setInterval(() => it.focus(), PERIOD)",
                "addEventListener('mousedown', (event) => event.preventDefault())",
                "addEventListener('keydown', () => it.focus(), true)",
                "addEventListener('pointerdown', () => setTimeout(() => it.focus(), DELAY))",
            ]
        )
        how = how.replace("DELAY", str(self.random.choice([0, 1, 30, 200]))).replace(
            "PERIOD", str(self.random.choice([7, 50, 333]))
        )
        self.scripts.append(
            f"""const it = document.createElement("input"); it.dataset.c = it.ariaLabel = "c{self.number}";
            document.body.append(it); {how}"""
        )

    def _scrolls(self) -> None:
        self.scripts.append(
            self.random.choice(
                [
                    "addEventListener('scroll', () => scrollTo(0, 0), true)",
                    "document.body.style.height = '3000px'; setInterval(() => scrollTo(0, Math.random() * 300), 120)",
                    "addEventListener('scroll', (event) => event.target.scrollTo?.(0, 0), true)",
                ]
            )
        )

    def _redraws(self) -> None:
        self.scripts.append(
            f"""const look = app.innerHTML; setInterval(() => {{ app.innerHTML = look; if (Math.random() < .3)
            app.append(app.firstElementChild) }}, {self.random.choice([30, 100, 400])})"""
            if "<iframe" not in str(self.scripts)
            else ""
        )

    def _reuses(self) -> None:
        """The same elements show other things."""
        self.scripts.append(
            f"""setInterval(() => {{ const all = [...document.querySelectorAll("button[data-c]")].filter((one) =>
            !one.children.length && one.textContent === one.dataset.c); const names = all.map((one) => one.dataset.c);
            names.unshift(names.pop()); all.forEach((one, index) => {{
            one.dataset.c = one.textContent = names[index] }})
            }}, {self.random.choice([40, 150, 700])})"""
        )

    def _portal(self) -> None:
        """Something opens beside what is touched, and takes its place on top."""
        self.number += 1
        self.scripts.append(
            f"""addEventListener("{self.random.choice(["mouseover", "focusin", "pointerdown"])}", (event) => {{
            const box = event.target.getBoundingClientRect?.(); if (!box || document.getElementById("portal")) return;
            const menu = document.createElement("div"); menu.id = "portal"; menu.className = "over";
            menu.dataset.c = menu.ariaLabel = "c{self.number}";
            const top = box.top + {self.random.choice([-10, 5, 30])};
            menu.style = `left:${{box.left - 20}}px; top:${{top}}px; width:200px; height:90px`;
            menu.innerHTML = "<button data-c=cmenu>cmenu</button>"; document.body.append(menu) }}, true)"""
        )
