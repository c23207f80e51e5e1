// `this` = the node the agent chose; visible = [left, top, right, bottom], the part of its frame that the window shows
// (null: all of it). Returns where to click it in its frame, what it is, and what covers it; null when it is gone;
// {scrolled: true} when it had to be scrolled to inside a frame, whose visible part is another one now.
// The point is the centre of its box, or, where something unrelated lies there (a link wrapped over two lines has its
// centre outside itself), the centre of one of its lines that is free.
function (visible) {
  if (!this.isConnected) return null;
  const element = this.nodeType === Node.TEXT_NODE ? this.parentElement : (this.documentElement ?? this);
  const isClosed = (root) => root instanceof ShadowRoot && root.host.shadowRoot !== root;
  let host = element; // the inner parts of a textbox, and of what hides them, stand for the whole
  for (let root = host.getRootNode(); isClosed(root); root = host.getRootNode()) host = root.host;
  const select = element.closest("select");
  const listbox = select !== null && (select.multiple || select.size > 1); // its options have boxes of their own
  const target = select !== null && !listbox ? select : element;

  const area = document.createRange();
  if (this.nodeType === Node.TEXT_NODE) area.selectNode(this);
  const measured = this.nodeType === Node.TEXT_NODE ? area : target;
  const [left, top, right, bottom] = visible ?? [0, 0, innerWidth, innerHeight];
  const inside = (box) => ({
    left: Math.max(box.left, left),
    top: Math.max(box.top, top),
    right: Math.min(box.right, right),
    bottom: Math.min(box.bottom, bottom),
  });
  const isEmpty = (box) => box.right <= box.left || box.bottom <= box.top;
  const centre = (box) => ({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
  const topmost = ({ x, y }) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; (inner = found?.shadowRoot?.elementFromPoint(x, y)) && inner !== found; ) found = inner;
    return found;
  };
  const holds = (outer, inner) => {
    for (let node = inner; node; node = node.parentNode ?? node.host) if (node === outer) return true;
    return false;
  };
  const hits = (point) => {
    const found = topmost(point);
    return found !== null && (holds(host, found) || holds(found, host));
  };

  if (isEmpty(inside(measured.getBoundingClientRect()))) {
    target.scrollIntoView({ block: "center", behavior: "instant" });
    if (visible) return { scrolled: true };
  }
  const boxes = [measured.getBoundingClientRect(), ...measured.getClientRects()].map(inside).filter((box) => !isEmpty(box));
  if (boxes.length === 0) return null;
  const points = boxes.map(centre);
  const free = points.find(hits);
  const point = free ?? points[0];

  const found = topmost(point);
  const words = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);
  const slider = element.closest("[role=slider], [role=spinbutton]");
  return {
    ...point,
    tag: element.tagName.toLowerCase(),
    type: element.tagName === "INPUT" ? element.type : "",
    listbox,
    disabled: element.closest("button, input, select, textarea, option, fieldset")?.matches(":disabled") ?? false,
    covered: free || !found ? null : `<${found.tagName.toLowerCase()}> "${words(found.innerText ?? found.textContent ?? "")}"`,
    slider: slider !== null && slider.tagName !== "INPUT" && slider.hasAttribute("aria-valuenow"),
  };
}
