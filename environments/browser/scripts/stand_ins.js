// Elements that are seen elsewhere than where their box is: areas of a picture, controls behind their labels, what is
// clipped, covered in part, or wrapped over lines. Added to `elcano` (world.js).
() => {
  const isIn = (box) => box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  const clipped = (box) => {
    const [x, y] = [Math.max(box.left, 0), Math.max(box.top, 0)];
    return { x, y, width: Math.min(box.right, innerWidth) - x, height: Math.min(box.bottom, innerHeight) - y };
  };
  const middle = ({ x, y, width, height }) => elcano.topmost(x + width / 2, y + height / 2);
  // What of a box the areas around the element let through.
  const letThrough = (element, box) => {
    let { left, top, right, bottom } = box;
    for (let node = elcano.around(element); node && node !== document.body; node = elcano.around(node)) {
      if (getComputedStyle(node).overflow === "visible") continue;
      const area = node.getBoundingClientRect();
      [left, top] = [Math.max(left, area.left), Math.max(top, area.top)];
      [right, bottom] = [Math.min(right, area.right), Math.min(bottom, area.bottom)];
    }
    return clipped(new DOMRect(left, top, right - left, bottom - top));
  };
  // Whether that is so in the center of a box; of one that is made of several, also a little beside it, where one of them
  // may end.
  const isAt = ({ x, y, width, height }, counts, isOne = true) =>
    (isOne ? [0] : [0, -1, 1]).every((aside) => {
      const hit = elcano.topmost(x + width / 2, y + height / 2 + aside);
      return hit !== null && counts(hit);
    });
  elcano.isAt = isAt;

  elcano.pictureOf = (area) => {
    const map = area.closest("map");
    const pictures = map?.name ? [...area.getRootNode().querySelectorAll("img[usemap], object[usemap]")] : [];
    const using = pictures.filter((picture) => picture.useMap === `#${map.name}`);
    return using.find((picture) => isIn(picture.getBoundingClientRect())) ?? using[0] ?? null;
  };
  // By its coordinates, which count from the picture's content; right where the picture is not turned.
  const reckoned = (area, picture) => {
    const box = picture.getBoundingClientRect();
    const style = getComputedStyle(picture);
    const own = [parseFloat(style.width), parseFloat(style.height)];
    const edges = (sides) => sides.reduce((sum, side) => sum + (parseFloat(style[side]) || 0), 0);
    const [left, top] = [edges(["paddingLeft", "borderLeftWidth"]), edges(["paddingTop", "borderTopWidth"])];
    const isBorder = style.boxSizing === "border-box";
    const whole = [
      own[0] + (isBorder ? 0 : left + edges(["paddingRight", "borderRightWidth"])),
      own[1] + (isBorder ? 0 : top + edges(["paddingBottom", "borderBottomWidth"])),
    ];
    const [across, down] = [box.width / whole[0], box.height / whole[1]];
    const numbers = (area.coords || "").split(/[\s,;]+/).filter(Boolean).map(Number);
    let [xs, ys] = [0, 1].map((odd) => numbers.filter((_, index) => index % 2 === odd));
    const shape = (area.shape || "rect").toLowerCase();
    if (shape.startsWith("circ")) {
      const [x, y, radius] = numbers;
      [xs, ys] = [[x - radius, x + radius], [y - radius, y + radius]];
    }
    if (shape === "default") return box;
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    const size = [(Math.max(...xs) - x) * across, (Math.max(...ys) - y) * down];
    return new DOMRect(box.left + (left + x) * across, box.top + (top + y) * down, ...size);
  };
  // By trying points of the picture: the area is where they hit it. Its box is the longest row of them.
  const found = (area, picture) => {
    const box = clipped(picture.getBoundingClientRect());
    const [across, down] = [box.width / 40, box.height / 40];
    let best = [0, 0, 0];
    for (let row = 0; row < 40; row++)
      for (let column = 0, length = 0; column < 40; column++) {
        const point = [box.x + (column + 0.5) * across, box.y + (row + 0.5) * down];
        length = elcano.topmost(...point) === area ? length + 1 : 0;
        if (length > best[0]) best = [length, column, row];
      }
    const [length, column, row] = best;
    if (!length) return null;
    return new DOMRect(box.x + (column + 1 - length) * across, box.y + row * down, length * across, down);
  };
  // Where an <area> is seen, a box with the area in its center; the reckoned one where it is not in view; null without a picture.
  elcano.shapeOf = (area) => {
    const picture = elcano.pictureOf(area);
    if (picture === null) return null;
    const box = reckoned(area, picture);
    if (!isIn(picture.getBoundingClientRect())) return box;
    const seen = letThrough(picture, box);
    const isHit = seen.width > 0 && seen.height > 0 && isAt(seen, (hit) => hit === area);
    return isHit ? DOMRect.fromRect(seen) : (found(area, picture) ?? box);
  };

  // The label, and its box, at which a control is seen and clicked that cannot be itself; null where there is none.
  const hidden = new Set(["radio", "checkbox", "file"]);
  elcano.labelOf = (control) => {
    if (!hidden.has(control.type)) return null;
    const labels = [...(control.labels ?? [])].filter((label) => isIn(label.getBoundingClientRect()));
    if (labels.length === 0) return null;
    const box = control.getBoundingClientRect();
    const belongs = (found) => found === control || labels.some((label) => elcano.holds(label, found));
    const isDrawn = box.width >= 4 && box.height >= 4 && control.checkVisibility({ visibilityProperty: true });
    if (isDrawn && isIn(box) && belongs(middle(clipped(box)))) return null;
    for (const label of labels)
      for (const box of label.getClientRects()) {
        const hit = isIn(box) ? middle(clipped(box)) : null;
        if (hit && elcano.holds(label, hit)) return { label, box };
      }
    return null;
  };

  const shares = [0.5, 0.1, 0.3, 0.7, 0.9];
  // Of an element that is not hit in the center of its box the part that is, with the center where it is hit; null where
  // none is found, in `budget.left` tries beside the centers of its lines, or the whole box is right.
  elcano.partOf = (element, budget) => {
    const isHit = (box) => isAt(box, (hit) => elcano.holds(element, hit));
    const whole = element.getBoundingClientRect();
    if (!isIn(whole)) return null;
    const lines = [...element.getClientRects()].slice(0, 20);
    const isOwn = (hit) => element.contains(hit) || elcano.holds(element, hit);
    if (isAt(whole, isOwn, lines.length === 1)) return null;
    const rects = lines.map((box) => letThrough(element, box));
    const boxes = rects.filter((box) => box.width >= 1 && box.height >= 1).sort((one, other) => other.width - one.width);
    const line = boxes.find(isHit);
    if (line) return line;
    for (const { x, y, width, height } of boxes.slice(0, 2))
      for (const down of shares)
        for (const across of shares) {
          const part = { x: x + (across - 0.1) * width, y: y + (down - 0.1) * height, width: width / 5, height: height / 5 };
          if (budget.left-- > 0 && isHit(part)) return part;
        }
    return null;
  };
  return 0;
}
