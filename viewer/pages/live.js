// The wall of sessions under way. A picture is fetched and drawn once, however often the wall is.
import { crumbs, duration, figure, h } from "./dom.js";
import { link, load, thumbnail, trajectoryLink } from "./source.js";

let pictures = new Map(); // by address
let counting;

function count() {
  const shown = document.querySelectorAll("[data-since]");
  for (const one of shown) one.textContent = duration(Math.round((performance.now() - one.dataset.since) / 1000));
  if (shown.length) counting = setTimeout(count, 2000);
}

export async function livePage() {
  const found = await load("live");
  clearTimeout(counting);
  counting = setTimeout(count, 2000);
  const before = pictures;
  pictures = new Map();
  function picture(one) {
    const src = thumbnail(one, one.number), alt = `page of ${one.name}`;
    pictures.set(src, before.get(src) ?? h("img", { src, alt }));
    return pictures.get(src);
  }
  return [
    crumbs(["opened runs", "#/"], ["under way"]),
    h("h1", {}, "Sessions under way"),
    found.alarms.map((alarm) => h("p", { class: "problem", role: "alert" }, alarm)),
    found.steps_per_s > 0 && !found.at_work.length && h("p", {}, `${figure(found.steps_per_s)} steps/s of the sessions that ended in the last two minutes`),
    found.servers.map((server) => h("p", {}, `server on port ${server.port}: requests waiting ${server.num_waiting}, running ${server.num_running}; `
      + `weights ${server.version}${server.num_behind ? `; the last replies of ${server.num_behind} sessions came from others` : ""}`)),
    found.at_work.map((work) => h("p", { class: "at-work" },
      `${work.run}, ${work.what}: ${work.done ?? "?"}/${work.total ?? "?"}; ${work.facts}; told ${duration(work.silent_s)} ago`)),
    !found.sessions.length && h("p", {}, "No session is under way."),
    found.ended.length > 0 && h("p", {}, "Ended in the last ten minutes: ", found.ended.map((one, at) => [at ? ", " : "",
      h("a", { href: `${link("rows", one.run)}?set=${encodeURIComponent(one.set)}` }, `${one.count} of ${one.set}`), ` (the last ${duration(one.ago_s)} ago)`])),
    h("ol", { class: "wall" }, found.sessions.map((one) => h("li", {}, h("a", { href: trajectoryLink(one.set, one.name, one.number) },
      one.number > 0 && picture(one),
      h("strong", {}, one.name), h("span", { class: "hint" }, one.set),
      h("span", {}, `step ${one.number}, ${one.thinking ? "thinking" : "acting"} for `, h("span", { "data-since": performance.now() - 1000 * one.idle_s }, duration(one.idle_s))),
      one.action && h("span", { class: "hint" }, `last: ${one.action}`))))),
  ];
}
