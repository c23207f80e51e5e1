// `this` = the node the agent chose. Returns where to click it, or null when it is gone, and what it is.
// The point is the centre of its box inside the viewport, or, where something unrelated lies there (a link wrapped over
// two lines has its centre outside itself), the centre of one of its lines that is free.
function () {
  if (!this.isConnected) return null;
  const element = this.nodeType === Node.TEXT_NODE ? this.parentElement : this;
  const host = element.getRootNode().host ?? element; // the inner parts of a textbox stand for the textbox
  const select = element.closest("select");
  const listbox = select !== null && (select.multiple || select.size > 1); // its options have boxes of their own
  const target = select !== null && !listbox ? select : element;

  const area = document.createRange();
  if (this.nodeType === Node.TEXT_NODE) area.selectNode(this);
  const measured = this.nodeType === Node.TEXT_NODE ? area : target;
  const inside = ({ left, top, right, bottom }) => ({
    left: Math.max(left, 0),
    top: Math.max(top, 0),
    right: Math.min(right, innerWidth),
    bottom: Math.min(bottom, innerHeight),
  });
  const isEmpty = (box) => box.right <= box.left || box.bottom <= box.top;
  const centre = (box) => ({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
  const hits = ({ x, y }) => {
    const found = document.elementFromPoint(x, y);
    return found !== null && (host.contains(found) || found.contains(host));
  };

  if (isEmpty(inside(measured.getBoundingClientRect()))) target.scrollIntoView({ block: "center", behavior: "instant" });
  const boxes = [measured.getBoundingClientRect(), ...measured.getClientRects()].map(inside).filter((box) => !isEmpty(box));
  if (boxes.length === 0) return null;
  const points = boxes.map(centre);
  const point = points.find(hits) ?? points[0];

  const found = document.elementFromPoint(point.x, point.y);
  const link = found?.closest("a, area");
  if (link) link.target = "_self"; // one tab only
  const form = found?.closest("form");
  if (form?.target) form.target = "_self";
  return {
    ...point,
    tag: element.tagName.toLowerCase(),
    listbox,
    disabled: element.closest("button, input, select, textarea, option, fieldset")?.matches(":disabled") ?? false,
  };
}
