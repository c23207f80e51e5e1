// A report of inspect_data.py: numbers, histograms as bars, and screenshots spread over the data.
import { crumbs, h, table } from "./dom.js";
import { load, tile } from "./source.js";

const MOST = 40; // bars of a histogram

export async function dataPage(key) {
  const { data, numbers, tiles } = await load("report", { report: key });
  const facts = numbers.filter(([, value]) => !Array.isArray(value)), parts = numbers.filter(([, value]) => Array.isArray(value) && value.length);
  return [
    crumbs(["opened", "#/"], [key]),
    h("h1", {}, data),
    table("", ["", ""], facts.map(([name, value]) => [name, told(value)])),
    parts.map(([name, pairs]) => h("section", {}, h("h2", {}, name), part(pairs))),
    tiles.length > 0 && h("section", {}, h("h2", {}, "screenshots"), h("ul", { class: "wall" }, tiles.map((one, at) =>
      h("li", {}, h("img", { src: tile(key, at), alt: one.id, loading: "lazy" }), h("span", {}, one.id), h("span", { class: "action" }, one.action))))),
  ];
}

const told = (value) => (typeof value === "number" ? value.toLocaleString("en") : value);

function part(pairs) {
  if (!pairs.every(([, value]) => typeof value === "number")) {
    return table("", ["", ""], pairs.map(([name, value]) => [name, Array.isArray(value) ? value.map(([inner, one]) => `${inner} ${told(one)}`).join(", ") : told(value)]));
  }
  const most = Math.max(...pairs.map(([, value]) => value), 1);
  const bars = pairs.slice(0, MOST).map(([name, value]) => [name, told(value), h("meter", { min: 0, max: most, value, "aria-label": `${name} ${value}` })]);
  return table(pairs.length > MOST ? `the first ${MOST} of ${pairs.length}` : "", ["", "", ""], bars);
}
