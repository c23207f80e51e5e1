// Elements that are seen elsewhere than where their box is: areas of a picture, controls behind their labels, what is
// clipped, covered in part, or wrapped over lines. Added to `elcano` (world.js).
() => {
  // The window's part that shows the page, scroll bars left out.
  const width = () => Math.min(innerWidth, document.scrollingElement?.clientWidth || innerWidth);
  const height = () => Math.min(innerHeight, document.scrollingElement?.clientHeight || innerHeight);
  // Of a frame that the documents around cut off less is shown: `elcano.region`, as they tell it; else null.
  elcano.region = null;
  const edges = () => {
    const { left = 0, top = 0, right = Infinity, bottom = Infinity } = elcano.region ?? {};
    return { left, top, right: Math.min(right, width()), bottom: Math.min(bottom, height()) };
  };
  const isIn = (box) => {
    const { left, top, right, bottom } = edges();
    return box.width > 0 && box.height > 0 && box.right > left && box.bottom > top && box.left < right && box.top < bottom;
  };
  elcano.isSeen = isIn;
  const clipped = (box) => {
    const { left, top, right, bottom } = edges();
    const [x, y] = [Math.max(box.left, left), Math.max(box.top, top)];
    return { x, y, width: Math.min(box.right, right) - x, height: Math.min(box.bottom, bottom) - y };
  };
  elcano.clipped = clipped;
  // The mouse moves by whole pixels of the window; in a frame, which may be drawn in any way, these cannot be told.
  const isWindow = window === window.top;
  const least = (isWindow ? 1 : 1.5) / devicePixelRatio;
  const isSizable = (box) => box.width >= least && box.height >= least;
  elcano.isSizable = isSizable;
  const middleOf = ({ x, y, width, height }) => {
    const middle = [x + width / 2, y + height / 2];
    return isWindow ? middle.map(Math.floor) : middle;
  };
  const hitIn = (box, aside = 0) => {
    const [across, down] = middleOf(box);
    return elcano.topmost(across, down + aside);
  };
  // The same box as the browser's layout tells it: all of the 64ths of a pixel that it touches.
  const laidOut = ({ left, top, right, bottom }) => {
    const [x, y, toX, toY] = [Math.floor(64 * left), Math.floor(64 * top), Math.ceil(64 * right), Math.ceil(64 * bottom)];
    return new DOMRect(x / 64, y / 64, (toX - x) / 64, (toY - y) / 64);
  };
  // What an element that cuts off shows: neither its border nor its scroll bars.
  const opening = (element) => {
    const box = element.getBoundingClientRect();
    if (!element.clientWidth || !element.offsetWidth) return box; // it is part of a line, or of a drawing
    const [across, down] = [box.width / element.offsetWidth, box.height / element.offsetHeight];
    const [left, top] = [box.left + element.clientLeft * across, box.top + element.clientTop * down];
    return new DOMRect(left, top, element.clientWidth * across, element.clientHeight * down);
  };
  // What of a box the areas around the element let through.
  const letThrough = (element, box) => {
    let { left, top, right, bottom } = box;
    for (let node = elcano.around(element); node && node !== document.body; node = elcano.around(node)) {
      if (getComputedStyle(node).overflow === "visible") continue;
      const area = opening(node);
      [left, top] = [Math.max(left, area.left), Math.max(top, area.top)];
      [right, bottom] = [Math.min(right, area.right), Math.min(bottom, area.bottom)];
    }
    return clipped(new DOMRect(left, top, right - left, bottom - top));
  };
  // Whether that is so in the center of a box; of one that is made of several, also a little beside it, where one of them
  // may end.
  const isAt = (box, counts, isOne = true) =>
    (isOne ? [0] : [0, -1, 1]).every((aside) => {
      const hit = hitIn(box, aside);
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
  // By trying points of the picture: the area is where they hit it. Of each row of them the box reaches as far up and down
  // as its center does; the one with the longest shorter side is taken.
  const found = (area, picture) => {
    const box = clipped(picture.getBoundingClientRect());
    const [across, down] = [box.width / 40, box.height / 40];
    const at = (row, column) => elcano.topmost(box.x + (column + 0.5) * across, box.y + (row + 0.5) * down) === area;
    const hits = Array.from({ length: 40 }, (_, row) => Array.from({ length: 40 }, (_, column) => at(row, column)));
    let [best, side] = [null, 0];
    for (let row = 0; row < 40; row++)
      for (let from = hits[row].indexOf(true), to; from >= 0; from = hits[row].indexOf(true, to)) {
        to = hits[row].indexOf(false, from);
        if (to < 0) to = 40;
        const middle = [Math.floor((from + to - 1) / 2), Math.ceil((from + to - 1) / 2)];
        const isHit = (at) => middle.every((column) => hits[at]?.[column]);
        let [first, last] = [row, row];
        while (isHit(first - 1)) first--;
        while (isHit(last + 1)) last++;
        const [width, height] = [(to - from) * across, (last + 1 - first) * down];
        if (Math.min(width, height) <= side) continue;
        side = Math.min(width, height);
        best = new DOMRect(box.x + from * across, box.y + first * down, width, height);
      }
    return best;
  };
  // What a frame's own box shows of it, where the areas around it let it through.
  elcano.shownOf = (frame) => {
    const { x, y, width, height } = letThrough(frame, frame.getBoundingClientRect());
    return [x, y, Math.max(0, width), Math.max(0, height)];
  };
  // Where an <area> is seen, a box with the area in its center; the reckoned one where it is not in view; null without a picture.
  elcano.shapeOf = (area) => {
    const picture = elcano.pictureOf(area);
    if (picture === null) return null;
    const box = reckoned(area, picture);
    if (!isIn(picture.getBoundingClientRect())) return box;
    const seen = letThrough(picture, box);
    const counts = (hit) => hit === area;
    const isShown = seen.width > 0 && seen.height > 0;
    if (isShown && isAt(seen, counts)) return DOMRect.fromRect(seen);
    const part = found(area, picture) ?? (isShown ? pieceWith(seen, counts, { left: MOST_PIECES }, () => {}) : null);
    return part ? DOMRect.fromRect(part) : box;
  };

  const range = document.createRange();
  const isFlat = (element) => element.offsetWidth === 0 || element.offsetHeight === 0; // before it is turned
  // The boxes of an element, or of what it holds where it has none itself ("display: contents", all of it floating).
  elcano.rectsOf = (element) => {
    const own = [...element.getClientRects()].slice(0, 20);
    if (!isFlat(element) && own.some((box) => box.width && box.height)) return own;
    range.selectNodeContents(element);
    return [...range.getClientRects()].slice(0, 20);
  };

  const MOST_PIECES = 12;
  const shares = [0.5, 0.1, 0.3, 0.7, 0.9];
  // What of a box another one leaves free: beside, above and below it.
  const leftFree = (box, over) => {
    const [right, bottom] = [box.x + box.width, box.y + box.height];
    const above = { ...box, height: over.top - box.y };
    const below = { ...box, y: over.bottom, height: bottom - over.bottom };
    const before = { ...box, width: over.left - box.x };
    const after = { ...box, x: over.right, width: right - over.right };
    return [before, after, above, below].filter(isSizable);
  };
  // Whether all of an element's box is the element's: it is not turned, round or skewed.
  const fillsItsBox = (element, box) => {
    const [across, down] = [box.width / element.offsetWidth, box.height / element.offsetHeight];
    return Math.abs(across - down) < 0.01 * down && getComputedStyle(element).borderRadius === "0px";
  };
  // A piece of the box with a center that counts: what covers the center is cut away, again and again. Null where none is
  // found; `onCover` is told of each element that covers, and its box.
  const pieceWith = (box, counts, budget, onCover) => {
    const waiting = [box];
    for (let turn = 0; turn < MOST_PIECES && waiting.length && budget.left-- > 0; turn++) {
      waiting.sort((one, other) => one.width * one.height - other.width * other.height);
      const piece = waiting.pop();
      const hit = hitIn(piece);
      if (hit !== null && counts(hit)) return piece;
      if (hit === null) return null;
      const over = hit.getBoundingClientRect();
      onCover(hit, over);
      waiting.push(...leftFree(piece, over));
    }
    return null;
  };
  // The same by points of the box, for what is turned, round or cut out.
  const cellWith = (box, counts, budget) => {
    const [width, height] = [box.width / 5, box.height / 5];
    for (const down of shares)
      for (const across of shares) {
        const cell = { x: box.x + across * box.width - width / 2, y: box.y + down * box.height - height / 2, width, height };
        if (budget.cells-- > 0 && isAt(cell, counts)) return cell;
      }
    return null;
  };
  // Of these boxes of an element the part that is seen, with a center that counts; null where none is found in
  // `budget.left` tries, and `budget.cells` that are less likely to find it.
  const partWith = (element, rects, counts, budget) => {
    const byWidth = (boxes) => boxes.filter(isSizable).sort((one, other) => other.width - one.width);
    const boxes = byWidth(rects.map((box) => letThrough(element, box)));
    const line = boxes.find((box) => isAt(box, counts));
    if (line) return line;
    for (const box of boxes.slice(0, 2)) {
      let isCovered = true;
      const look = (over, area) => (isCovered &&= !elcano.holds(over, element) && fillsItsBox(over, area));
      const part = pieceWith(box, counts, budget, look) ?? (isCovered ? null : cellWith(box, counts, budget));
      if (part) return part;
    }
    return byWidth(rects.map(clipped)).find((box) => isAt(box, counts)) ?? null; // what is fixed is not cut off
  };

  // The label, and its box, at which a control is seen and clicked that cannot be itself; null where there is none.
  const hidden = new Set(["radio", "checkbox", "file"]);
  // Whether an element may be seen although its own box, as it is given, is not.
  elcano.isElsewhere = (element) => element.tagName === "AREA" || hidden.has(element.type) || isFlat(element);
  elcano.labelOf = (control, budget = { left: 100, cells: 100 }) => {
    if (!hidden.has(control.type)) return null;
    const labels = [...(control.labels ?? [])].filter((label) => isIn(label.getBoundingClientRect()));
    if (labels.length === 0) return null;
    const box = control.getBoundingClientRect();
    const belongs = (found) => found === control || labels.some((label) => elcano.holds(label, found));
    const shown = clipped(box);
    const isDrawn = shown.width >= 4 && shown.height >= 4 && control.checkVisibility({ visibilityProperty: true });
    if (isDrawn && isIn(box) && belongs(hitIn(shown))) return null;
    for (const label of labels) {
      const box = partWith(label, [...label.getClientRects()].slice(0, 20), (hit) => elcano.holds(label, hit), budget);
      if (box) return { label, box: DOMRect.fromRect(box) };
    }
    return null;
  };

  // Of an element that is not hit in the center of its box, and of what the window shows of that, the part that is, with
  // the center where it is hit; null where none is found, in `budget.left` tries beside the centers of its lines, or the
  // whole box is right.
  elcano.partOf = (element, budget) => {
    const whole = element.getBoundingClientRect();
    const rects = elcano.rectsOf(element);
    if (!rects.some(isIn)) return null;
    const isOwn = (hit) => element.contains(hit) || elcano.holds(element, hit);
    // Where an edge runs through its middle, the pixel there may be another one by the box that the tree has.
    const told = isWindow ? [whole, laidOut(whole)] : [whole];
    const boxes = new Map(told.flatMap((box) => [box, clipped(box)]).map((box) => [String(middleOf(box)), box]));
    const isRight = (box) => isAt(box, isOwn, rects.length === 1);
    if (!isFlat(element) && isIn(whole) && [...boxes.values()].every(isRight)) return null;
    return partWith(element, rects, isOwn, budget);
  };
  return 0;
}
