// Finds what can be acted on in this frame, by WebVoyager's rules, and remembers it as `elcano.marks`. The page is not
// touched. Returns {tag, type, text, label, boxes} for each, boxes as [left, top, right, bottom].
// Different from WebVoyager: what open shadow roots hold is marked too, and an iframe's content instead of the iframe;
// a click handler set by a script is not seen from our world, the hand that the mouse becomes there is.
() => {
  const collect = (root) =>
    [...root.querySelectorAll("*")].flatMap((element) =>
      element.shadowRoot ? [element, ...collect(element.shadowRoot)] : [element],
    );
  const topmost = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; (inner = found?.shadowRoot?.elementFromPoint(x, y)) && inner !== found; ) found = inner;
    return found;
  };
  const parent = (node) => node.parentNode ?? node.host;
  const holds = (outer, inner) => {
    for (let node = inner; node; node = parent(node)) if (node === outer) return true;
    return false;
  };
  const tags = new Set(["INPUT", "TEXTAREA", "SELECT", "BUTTON", "A", "VIDEO", "LI", "TD", "OPTION"]);
  const canBeActedOn = (element) =>
    tags.has(element.tagName) ||
    element.hasAttribute("onclick") ||
    (element.tagName !== "IFRAME" && getComputedStyle(element).cursor === "pointer");
  const boxesOf = (element) =>
    [...element.getClientRects()]
      .filter((box) => holds(element, topmost(box.left + box.width / 2, box.top + box.height / 2)))
      .map((box) => [
        Math.max(0, box.left),
        Math.max(0, box.top),
        Math.min(innerWidth, box.right),
        Math.min(innerHeight, box.bottom),
      ])
      .filter((box) => box[2] > box[0] && box[3] > box[1]);
  const area = (boxes) => boxes.reduce((sum, box) => sum + (box[2] - box[0]) * (box[3] - box[1]), 0);

  let items = collect(document).filter(canBeActedOn).map((element) => ({ element, boxes: boxesOf(element) }));
  items = items.filter((item) => area(item.boxes) >= 20);

  // Of nested ones the innermost counts, but what a button or link holds belongs to it.
  const marked = new Set(items.map((item) => item.element));
  const above = (element, counts) => {
    for (let node = parent(element); node; node = parent(node)) if (marked.has(node) && counts(node)) return true;
    return false;
  };
  const isButton = (element) => element.matches("button, a, input[type=button], div[role=button]");
  const isOnlyChildOfRole = (element) => {
    const around = element.parentElement;
    return around?.tagName === "SPAN" && around.children.length === 1 && around.getAttribute("role") && marked.has(around);
  };
  items = items.filter(({ element }) => !above(element, isButton) && !isOnlyChildOfRole(element));
  const containers = new Set();
  for (const { element } of items) for (let node = parent(element); node; node = parent(node)) containers.add(node);
  items = items.filter(({ element }) => !containers.has(element));

  globalThis.elcano.marks = items.map((item) => item.element);
  return items.map(({ element, boxes }) => ({
    tag: element.tagName.toLowerCase(),
    type: element.type ?? "",
    text: element.textContent.trim().replace(/\s{2,}/g, " "),
    label: element.getAttribute("aria-label") ?? "",
    boxes,
  }));
}
