// `this` = the node the agent chose; visible = [left, top, right, bottom], the part of its frame that the window shows
// (null: all of it). Scrolls it into what shows of every area around it, if need be, and returns the points of it that
// lie free, best first, with what the element is; no points and what covers it where there are none; null when it is gone.
// The guard then lets a press reach the element, what is in it, its label and what its label is for; nothing else.
//
// `changed`: what it reads, where that is not the `name` it was observed with, as far as that is plain, or what stands
// beside it, where that told it from others and is another thing by now; null where all is as it was.
// In a frame the window's part of it changes as it is scrolled: one way (`block`) is tried with each call.
async function (visible, block, rests, name) {
  let element = this.nodeType === Node.TEXT_NODE ? this.parentElement : (this.documentElement ?? this);
  if (element && !element.isConnected) element = elcano.findAgain(element); // the page drew itself anew
  if (element === null) return null;
  const isText = this.nodeType === Node.TEXT_NODE && this.isConnected;
  elcano.reveal(element);
  let host = elcano.whole(element);
  const select = host.closest("select");
  const isListbox = select !== null && (select.multiple || select.size > 1); // its options have boxes of their own
  if (select !== null && !isListbox) host = select;
  const isInner = host !== element && select === null;
  const field = elcano.fieldIn(host);
  if (field !== null) host = field;
  const under = elcano.fieldUnder(host);
  const isArea = host.tagName === "AREA";
  const image = isArea ? elcano.pictureOf(host) : null;
  const labels = [...(host.labels ?? [])];
  // A label is for the whole of a list, never for one of its options.
  const isPartOf = (list) => list !== null && list !== host && elcano.holds(list, host);
  const label = elcano.closest(host, (node) => node.tagName === "LABEL" && !isPartOf(node.control));
  const control = elcano.controlOf(host);
  const style = getComputedStyle(host);

  // ---- what a press may reach
  const belongs = (label, found) => {
    if (!elcano.holds(label, found)) return false;
    const used = elcano.controlOf(found);
    return used === null || used === label.control || !elcano.holds(label, used);
  };
  const isGround = (found) => found === document.body || found === document.documentElement;
  const isOwn = (found) =>
    elcano.holds(host, found) ||
    (under !== null && elcano.holds(under, found)) ||
    labels.some((label) => belongs(label, found)) ||
    (label !== null && (belongs(label, found) || (label.control !== null && elcano.holds(label.control, found)))) ||
    (control !== null && control !== document.body && elcano.controlOf(found) === control) ||
    (elcano.holds(found, host) && style.pointerEvents === "none" && control === elcano.controlOf(found) && !isGround(found));
  const accepts = (found) => {
    if (!(found instanceof Element)) return false;
    return host.isConnected ? isOwn(found) : elcano.isAgain(host, found);
  };
  // Another control inside: not what was chosen, unless it takes all of its room.
  const parts = host.getElementsByTagName("*").length;
  const inner = parts > 0 && parts < 2000 ? [...host.querySelectorAll("*")].filter(elcano.isUsable).length : 0;
  const isFrame = (found) => ["IFRAME", "FRAME"].includes(found.tagName);
  const isAnother = (found) => {
    if (isFrame(found)) return found !== host;
    const used = elcano.controlOf(found);
    return used !== null && used !== host && used !== label?.control && elcano.holds(host, used) && (control === host || inner > 1);
  };

  // ---- where it lies
  const range = document.createRange();
  if (isText) range.selectNode(this);
  const measured = isText && field === null ? range : isInner && field === null ? element : host;
  const sides = ({ left, top, right, bottom }) => ({ left, top, right, bottom });
  const [left, top, right, bottom] = visible ?? [0, 0, innerWidth, innerHeight];
  const meet = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  });
  const isEmpty = (box) => box.right <= box.left || box.bottom <= box.top;
  const boxesOf = (what) => [what.getBoundingClientRect(), ...[...what.getClientRects()].slice(0, 20)].map(sides);
  const allBoxes = () => {
    const own = isArea ? [elcano.shapeOf(host)].filter(Boolean).map(sides) : boxesOf(measured);
    return [...own, ...labels.flatMap(boxesOf)];
  };
  const clip = () => {
    let area = { left, top, right, bottom };
    for (let node = elcano.around(host); node && node !== document.documentElement && node !== document.body; node = elcano.around(node))
      if (getComputedStyle(node).overflow !== "visible") area = meet(area, sides(node.getBoundingClientRect()));
    return area;
  };
  const sizeOf = (box) => Math.max(0, box.right - box.left) * Math.max(0, box.bottom - box.top);
  const fills = (inner) => {
    const whole = sides(measured.getBoundingClientRect());
    return sizeOf(meet(whole, sides(inner.getBoundingClientRect()))) >= 0.8 * sizeOf(whole);
  };
  const center = (box) => ({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
  const shares = [0.5, 0.25, 0.75, 0.1, 0.9];
  const grid = (box) =>
    shares.flatMap((down) =>
      shares.map((across) => ({
        x: box.left + across * (box.right - box.left),
        y: box.top + down * (box.bottom - box.top),
      })),
    );

  // ---- points that lie free
  let covering = null;
  let isFilled = false;
  const look = () => {
    const boxes = allBoxes().map((box) => meet(box, { left, top, right, bottom })).filter((box) => !isEmpty(box));
    const area = clip();
    const clipped = boxes.map((box) => meet(box, area)).filter((box) => !isEmpty(box));
    const tries = [boxes.slice(0, 1).map(center), clipped.map(center), boxes.map(center), clipped.flatMap(grid), boxes.flatMap(grid)];
    const [own, others, used] = [[], [], new Set()];
    for (const points of tries) {
      for (const point of points.slice(0, 120)) {
        const found = elcano.topmost(point.x, point.y);
        if (found === null) continue;
        if (!accepts(found)) covering ??= clipped.length > 0 ? found : null;
        else if (!isAnother(found)) own.push(point);
        else others.push(point) && used.add(isFrame(found) ? found : elcano.controlOf(found));
      }
      if (own.length > 0 && (visible === null || own.length > 3)) break;
    }
    if (own.length > 0) return own;
    const [one] = used;
    isFilled = used.size === 1 && fills(one);
    if (isFilled) return others;
    covering ??= one ?? null;
    return [];
  };
  const isOutside = () => allBoxes().every((box) => isEmpty(meet(box, { left, top, right, bottom })));
  const bring = (way) => {
    const shown = isArea ? (image ?? host) : host.getClientRects().length > 0 ? host : (labels[0] ?? host);
    const block = way === "first" ? (isOutside() ? "center" : "nearest") : way;
    shown.scrollIntoView({ block, inline: way === "first" ? "nearest" : "center", behavior: "instant" });
  };

  if (rests) {
    const read = () => JSON.stringify(allBoxes());
    for (let turn = 0, last = ""; turn < 20 && read() !== last; turn++) {
      last = read();
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (!host.isConnected) return null;
    }
  }
  if (block !== null) {
    bring(block);
    return { scrolled: true };
  }
  let points = look();
  if (points.length === 0 && visible === null) {
    const places = [];
    for (let node = host; node; node = elcano.around(node)) places.push([node, node.scrollLeft, node.scrollTop]);
    for (const way of ["first", "center", "start", "end"]) {
      bring(way);
      if ((points = look()).length > 0) break;
    }
    // It is left where it was: nothing is done.
    if (points.length === 0) for (const [node, x, y] of places) node.scrollTo({ left: x, top: y, behavior: "instant" });
  }
  if (!host.isConnected) return null;

  // An element that shows something else by the time it is pressed is another one, and so is one of several alike when
  // what stands beside it does: lists use their rows again.
  const [shows, isShort] = [host.textContent, host.textContent.length < 500];
  const isPressed = (found) => {
    const isAsBefore = () => (!isShort || host.textContent === shows) && elcano.otherRow(control ?? host) === null;
    const isRight = accepts(found) && (isFilled || !isAnother(found)) && (!host.isConnected || isAsBefore());
    if (isRight) elcano.pressed = host;
    return isRight;
  };
  const arms = points.length > 0 && host.tagName !== "SELECT" && host.type !== "file"; // those are not pressed
  if (arms) elcano.guard.arm("press", isPressed, host);
  elcano.aims = [elcano.aims?.[1], accepts];
  elcano.noteFields();
  const isAround = covering !== null && elcano.holds(covering, host);
  const slider = element.closest("[role=slider], [role=spinbutton]");
  // The tree's name has the icons that a style sheet draws before a text by a font's private characters; texts have not.
  const plain = (text) => (text ?? "").replace(/[\s\uE000-\uF8FF]+/g, " ").trim().toLowerCase();
  const named = [isText ? this.data : null, element.ariaLabel, element.innerText, element.textContent, element.title];
  named.push(...labels.map((label) => label.innerText), element.alt, element.placeholder, element.value);
  named.push(document.title);
  const isMixed = !isText && (element.hasAttribute("aria-labelledby") || element.querySelector("[alt], [aria-label], [title]"));
  const isSame = !name || isMixed || named.some((text) => plain(text) === plain(name));
  const row = elcano.otherRow(control ?? host);
  return {
    changed: isSame ? (row === null ? null : elcano.words(row)) : elcano.words(element.innerText ?? element.textContent),
    arms,
    points: points.slice(0, 12),
    covered: covering === null || isAround ? null : elcano.describe(covering),
    takes_clicks: style.pointerEvents !== "none" || points.length > 0,
    tag: element.tagName.toLowerCase(),
    type: element.tagName === "INPUT" ? element.type : "",
    listbox: isListbox,
    multiple: select?.multiple ?? false,
    disabled: elcano.isDisabled(field ?? element),
    slider: slider !== null && slider.tagName !== "INPUT" && slider.hasAttribute("aria-valuenow"),
    pressed: elcano.pressed !== undefined && (elcano.pressed === host || (control !== null && elcano.controlOf(elcano.pressed) === control)),
    into_frame: points.length > 0 && isFrame(elcano.topmost(points[0].x, points[0].y)),
    takes_none: field === null && under === null && elcano.takesNone(label?.control ?? control),
    link: elcano.closest(host, (node) => node.matches("a[href], area[href]"))?.href ?? "",
  };
}
