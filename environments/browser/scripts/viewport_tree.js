// What this document shows in its viewport, in the order of an accessibility tree, for one that is too large to be asked
// for whole. Returns {parent, box, text, before, after} each and remembers the nodes as `elcano.inView`: `parent` is a
// place in the list, `text` what is in view of a text, or the beginning of a title, longer than `mostText` (null of everything else), `before` and
// `after` how many characters of it are not. At most `most` nodes and `mostOptions` of a menu, which has `more` then.
(most, mostText, mostOptions) => {
  const nodes = [];
  const found = [];
  const isIn = (box) =>
    box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  const add = (node, parent, box, long = {}) => {
    nodes.push(node);
    found.push({ parent, box: [box.x, box.y, box.width, box.height], text: null, before: 0, after: 0, ...long });
    return found.length - 1;
  };
  const area = document.createRange();
  const offsetAt = (node, x, y, otherwise) => {
    const at = document.caretPositionFromPoint(x, y, { shadowRoots: [node.getRootNode()].filter((root) => root.host) });
    return at?.offsetNode === node ? at.offset : otherwise;
  };
  const partOf = (node, box) => {
    const start = offsetAt(node, Math.max(box.left, 0) + 1, Math.max(box.top, 0) + 1, 0);
    const end = offsetAt(node, Math.min(box.right, innerWidth) - 1, Math.min(box.bottom, innerHeight) - 1, node.length);
    const text = node.substringData(start, Math.max(0, Math.min(end - start, 4 * mostText)));
    return { text, before: start, after: node.length - start - text.length };
  };
  const visitText = (node, parent, around) => {
    if (node.length > mostText) {
      const [x, y] = [Math.max(around.left, 0), Math.max(around.top, 0)];
      const box = { x, y, width: Math.min(around.right, innerWidth) - x, height: Math.min(around.bottom, innerHeight) - y };
      if (isIn(around)) add(node, parent, box, partOf(node, around));
      return;
    }
    area.selectNode(node);
    const box = area.getBoundingClientRect();
    if (isIn(box)) add(node, parent, box);
  };
  const childrenOf = (element) => {
    const root = elcano.rootOf(element);
    if (root) return root.childNodes;
    const given = element.tagName === "SLOT" ? element.assignedNodes() : [];
    return given.length ? given : element.childNodes;
  };

  const isLong = document.title.length > mostText;
  const title = { text: document.title.slice(0, mostText), before: 0, after: document.title.length - mostText };
  add(document, -1, { x: 0, y: 0, width: innerWidth, height: innerHeight }, isLong ? title : {});
  const stack = [[document.body ?? document.documentElement, 0]];
  const opaque = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "IFRAME", "FRAME", "INPUT", "TEXTAREA", "OBJECT", "SELECT"]);
  while (stack.length && nodes.length < most) {
    const [node, parent, around] = stack.pop();
    if (node.nodeType === Node.TEXT_NODE) visitText(node, parent, around);
    if (node.nodeType !== Node.ELEMENT_NODE || node.ariaHidden === "true") continue;
    const box = node.getBoundingClientRect();
    const below = isIn(box) ? add(node, parent, box) : parent;
    if (node.tagName === "SELECT" && below !== parent) {
      const listed = [...node.options].filter((option, index) => index < mostOptions || option.selected);
      for (const option of listed) add(option, below, option.getClientRects().length > 0 ? option.getBoundingClientRect() : box);
      found[below].more = node.options.length - listed.length;
    }
    const isEmpty = !box.width || !box.height;
    if (opaque.has(node.tagName)) continue;
    if (isEmpty && !node.checkVisibility() && getComputedStyle(node).display !== "contents") continue;
    const children = childrenOf(node);
    for (let index = children.length - 1; index >= 0; index--)
      if (children[index].nodeType !== Node.TEXT_NODE || isEmpty || below !== parent) stack.push([children[index], below, box]);
  }
  elcano.inView = nodes;
  return found;
}
