// Elements, made without markup: whatever is shown is a text node, and an attribute's name is always our own.

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g; // they turn the words around them, ours too, so they are told by number

const plain = (text) => String(text).replace(TURNS, (turn) => `\\u${turn.charCodeAt(0).toString(16)}`);

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, ["title", "alt", "aria-label"].includes(name) ? plain(value) : value);
  }
  const there = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...there.map((child) => (child instanceof Node ? child : plain(child))));
  return element;
}

export function show(...children) {
  refill(document.getElementById("main"), ...children.flat(Infinity).filter(Boolean));
}

// What had the focus keeps it, where it stands in the place again.
export function refill(place, ...children) {
  const one = document.activeElement;
  if (!place.contains(one)) return place.replaceChildren(...children);
  const named = (other) => other.id || (other.getAttribute("href") ?? other.getAttribute("aria-label") ?? other.textContent).replace(/\/\d+$/, ""); // a link to a step is of its trajectory
  const name = named(one), alike = () => [...place.querySelectorAll(one.tagName)].filter((other) => named(other) === name);
  const at = alike().indexOf(one);
  place.replaceChildren(...children);
  if (at >= 0) alike()[at]?.focus({ preventScroll: true });
}

export function badge(word) {
  const known = ["success", "failure", "blocked", "infeasible", "invalid", "unjudged", "unfinished", "unreadable"];
  return h("span", { class: `badge ${known.includes(word) ? word : ""}` }, word || "not read yet");
}

export function crumbs(...links) {
  return h("nav", { "aria-label": "where you are" }, links.filter(Boolean).map(([text, href], at) => [at ? " › " : "", href ? h("a", { href }, text) : text]));
}

export function table(caption, allTitles, allRows) {
  const kept = allTitles.map((_, at) => allRows.some((row) => ![null, undefined, ""].includes(row[at])));
  const [titles, ...rows] = [allTitles, ...allRows].map((row) => row.filter((_, at) => kept[at]));
  return h("div", { class: "wide" }, h("table", {}, caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell)))))));
}

export const percent = (share) => (share === null || share === undefined ? "" : `${(100 * share).toFixed(1)}\u00a0%`);
export const points = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)}`;
export const figure = (value, digits = 3) => (value === null || value === undefined ? "" : String(+value.toPrecision(digits)));

export const UNUSABLE = "NaN or beyond 1e15";
export const told = (value) => (value === null ? UNUSABLE : figure(value));

export function duration(seconds) {
  if (seconds < 90) return `${figure(seconds, 2)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
