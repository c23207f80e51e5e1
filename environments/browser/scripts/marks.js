// Finds what can be acted on in this frame, by WebVoyager's rules, and remembers it as `elcano.marks`. The page is not
// touched. Returns {tag, type, text, label, row, boxes} for each, boxes as [left, top, right, bottom]; of texts the beginning;
// `row` tells it from others that read alike (rows.js).
// Different from WebVoyager: what shadow roots hold is marked too, an iframe's content instead of the iframe, the areas of
// a picture, an editor that is no field, and a control that is hidden behind its label; a click handler set by a script is not seen from our world,
// the hand that the mouse becomes there is.
(mostText, region) => {
  elcano.region = region; // as survey.js has it
  const collect = (root) =>
    [...root.querySelectorAll("*")].flatMap((element) => {
      const inner = elcano.rootOf(element);
      return inner ? [element, ...collect(inner)] : [element];
    });
  const parent = (node) => node.parentNode ?? node.host;
  const tags = new Set(["INPUT", "TEXTAREA", "SELECT", "BUTTON", "A", "VIDEO", "LI", "TD", "OPTION", "AREA"]);
  const isEditor = (element) => element.isContentEditable && !element.parentElement?.isContentEditable;
  const canBeActedOn = (element) =>
    tags.has(element.tagName) ||
    element.hasAttribute("onclick") ||
    isEditor(element) ||
    (element.tagName !== "IFRAME" && getComputedStyle(element).cursor === "pointer");
  const rectsOf = (element) => {
    if (element.tagName === "AREA") return [elcano.shapeOf(element)].filter(Boolean);
    if (isEditor(element)) return [new DOMRect(...elcano.shownOf(element))]; // it is as long as its text
    const behind = elcano.labelOf(element);
    return behind ? [behind.box] : elcano.rectsOf(element);
  };
  const belongs = (element, found) =>
    elcano.holds(element, found) || [...(element.labels ?? [])].some((label) => elcano.holds(label, found));
  const budget = { left: 2000, cells: 1000 };
  const partOf = (element) => {
    const part = elcano.partOf(element, budget) ?? element.getBoundingClientRect(); // whose center may be seen
    return [new DOMRect(part.x, part.y, part.width, part.height)];
  };
  const boxesOf = (element) => {
    const boxes = shownBoxes(element, rectsOf(element));
    if (boxes.length) return area(boxes) >= 20 || element.tagName === "AREA" ? boxes : [];
    return shownBoxes(element, partOf(element));
  };
  const shownBoxes = (element, rects) =>
    rects
      .map((box) => elcano.clipped(box))
      .filter((box) => elcano.isSizable(box) && elcano.isAt(box, (hit) => belongs(element, hit)))
      .map(({ x, y, width, height }) => [x, y, x + width, y + height]);
  const area = (boxes) => boxes.reduce((sum, box) => sum + (box[2] - box[0]) * (box[3] - box[1]), 0);

  let items = collect(document).filter(canBeActedOn).map((element) => ({ element, boxes: boxesOf(element) }));
  items = items.filter((item) => item.boxes.length > 0);

  // Of nested ones the innermost counts, but what a button, link or editor holds belongs to it.
  const marked = new Set(items.map((item) => item.element));
  const above = (element, counts) => {
    for (let node = parent(element); node; node = parent(node)) if (marked.has(node) && counts(node)) return true;
    return false;
  };
  const isButton = (element) => element.matches("button, a, input[type=button], div[role=button]") || isEditor(element);
  const isOnlyChildOfRole = (element) => {
    const around = element.parentElement;
    return around?.tagName === "SPAN" && around.children.length === 1 && around.getAttribute("role") && marked.has(around);
  };
  items = items.filter(({ element }) => !above(element, isButton) && !isOnlyChildOfRole(element));
  const containers = new Set();
  for (const { element } of items) for (let node = parent(element); node; node = parent(node)) containers.add(node);
  items = items.filter(({ element }) => !containers.has(element));

  elcano.region = null;
  globalThis.elcano.marks = items.map((item) => item.element);
  const beginning = (text) => (text ?? "").slice(0, 20 * mostText).trim().replace(/\s{2,}/g, " ").slice(0, mostText);
  return items.map(({ element, boxes }) => ({
    tag: element.tagName.toLowerCase(),
    type: isEditor(element) ? "editor" : (element.type ?? ""),
    text: beginning(element.tagName === "AREA" ? element.alt || element.title : (elcano.labelOf(element)?.label ?? element).textContent),
    label: beginning(element.getAttribute("aria-label")),
    row: elcano.rowOf(element),
    boxes,
  }));
}
