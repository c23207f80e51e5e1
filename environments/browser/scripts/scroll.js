// Scrolls by two thirds of what shows, at once; `this` = the element to scroll in, or undefined for the window.
// Returns "moved"; "ended" where it cannot be scrolled further; "frame" where a frame is to be scrolled instead, remembered
// as `elcano.marks[-1]`, unless it is known to stay (`skipFrames`); "nothing" where there is nothing that scrolls.
//
// The window: a person scrolls what fills most of it, or what has the focus where nothing does, or what lies fixed before
// the rest. Each point of a grid stands for what the wheel would move there.
function (direction, skipFrames) {
  const sign = direction === "up" ? -1 : 1;
  const root = document.scrollingElement ?? document.documentElement;
  const overflow = (element) => getComputedStyle(element).overflowY;
  const isLocked = () => {
    const [html, body] = [document.documentElement, document.body].map((element) => (element ? overflow(element) : ""));
    return ["hidden", "clip"].includes(html === "visible" && body ? body : html);
  };
  const scrolls = (area) => {
    if (area === root) return area.scrollHeight > innerHeight + 1 && !isLocked();
    if (area === document.documentElement) return false;
    if (area === document.body && overflow(document.documentElement) === "visible") return false; // the window has its overflow
    return area.scrollHeight > area.clientHeight + 1 && ["auto", "scroll", "overlay"].includes(overflow(area));
  };
  const canMove = (area) => {
    const room = area.scrollHeight - (area === root ? innerHeight : area.clientHeight);
    const isReversed = area.scrollTop < 0 || getComputedStyle(area).flexDirection === "column-reverse";
    const [least, most] = isReversed ? [-room, 0] : [0, room];
    return sign < 0 ? area.scrollTop > least + 0.5 : area.scrollTop < most - 1;
  };
  // What the wheel reaches from an element, innermost first; what is fixed lies in the window alone.
  const chain = (element) => {
    const areas = [];
    for (let node = element; node; node = elcano.around(node)) {
      if (node !== root && node !== document.body && getComputedStyle(node).position === "fixed") {
        if (scrolls(node)) areas.push(node);
        return [...areas, ...(scrolls(root) ? [root] : [])];
      }
      if (node === root ? scrolls(root) : scrolls(node)) areas.push(node);
    }
    if (!areas.includes(root) && scrolls(root)) areas.push(root);
    return areas;
  };
  const move = (area) => {
    const [before, height] = [area.scrollTop, area === root ? innerHeight : area.clientHeight];
    const step = sign * Math.max(1, Math.floor((height * 2) / 3));
    const seen = [before];
    do {
      area.scrollBy({ top: step, behavior: "instant" });
      seen.push(area.scrollTop);
    } while (isBlank() && seen.at(-1) !== seen.at(-2) && seen.length < 100);
    if (isBlank()) area.scrollTo({ top: before, behavior: "instant" }); // blank to its end
    return area.scrollTop !== before;
  };

  const drawn = "img, svg, canvas, video, iframe, frame, object, embed, input, button, select, textarea";
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isContent = (element) => element !== null && (element.closest(drawn) !== null || hasText(element));
  const isInView = (box) =>
    box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  const isBlank = () => {
    if (points.some(([x, y]) => isContent(elcano.topmost(x, y)))) return false;
    const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_ELEMENT);
    for (let element, left = 20000; (element = walker.nextNode()) && left > 0; left--) {
      if (elcano.rootOf(element) !== null || getComputedStyle(element).backgroundImage !== "none") {
        if (isInView(element.getBoundingClientRect())) return false;
      } else if (isContent(element) && isInView(element.getBoundingClientRect())) return false;
    }
    return true;
  };

  const side = 7;
  const points = [];
  for (let column = 0; column < side; column++)
    for (let row = 0; row < side; row++)
      points.push([((column + 0.5) / side) * innerWidth, ((row + 0.5) / side) * innerHeight]);

  const chosen = this instanceof Element ? this : this instanceof Text ? this.parentElement : null;
  if (chosen !== null) {
    const [area] = chain(chosen);
    if (area === undefined) return "nothing";
    return move(area) ? "moved" : "ended";
  }

  // A frame first: whether it scrolls it says itself.
  const votes = new Map();
  const reach = (element) => {
    if (!skipFrames && ["IFRAME", "FRAME"].includes(element.tagName)) return element;
    const areas = chain(element);
    return areas.find(canMove) ?? areas[0] ?? null;
  };
  const vote = (element) => {
    const area = element && reach(element);
    if (area) votes.set(area, (votes.get(area) ?? 0) + 1);
    return area;
  };
  for (const [x, y] of points) vote(elcano.topmost(x, y));
  const isFixed = (element) => {
    for (let node = element; node && node !== root; node = elcano.around(node))
      if (getComputedStyle(node).position === "fixed") return true;
    return false;
  };
  const center = elcano.topmost(innerWidth / 2, innerHeight / 2);
  const front = center && isFixed(center) ? reach(center) : null;
  const [most] = [...votes.keys()].sort((one, other) => votes.get(other) - votes.get(one));
  const focused = elcano.focused();
  const focus = focused && focused !== document.body ? reach(focused) : null;
  const isLarge = (area) => votes.get(area) * 2 > points.length;
  const isFrame = (area) => ["IFRAME", "FRAME"].includes(area.tagName);
  // Of several small ones, one that has not ended.
  const others = most && !isLarge(most) && !isFrame(most) && !canMove(most) ? [...votes.keys()] : [];
  let area = others.find((other) => isFrame(other) || canMove(other)) ?? most;
  if (front && front !== root && canMove(front)) area = front;
  else if (focus && votes.has(focus) && !isLarge(most)) area = focus;
  if (area === undefined) return "nothing";
  if (isFrame(area)) {
    elcano.marks[-1] = area;
    return "frame";
  }
  return move(area) ? "moved" : "ended";
}
