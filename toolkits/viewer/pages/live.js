// The wall of sessions under way.
import { crumbs, duration, h } from "./dom.js";
import { load, screenshot, trajectoryLink } from "./source.js";

export async function livePage() {
  const found = await load("live");
  return [
    crumbs(["opened runs", "#/"], ["under way"]),
    h("h1", {}, "Sessions under way"),
    found.alarms.map((alarm) => h("p", { class: "problem", role: "alert" }, alarm)),
    found.at_work.map((work) => h("p", { class: "at-work" }, `${work.run}, ${work.what}: ${work.done}/${work.total}; ${work.facts}`)),
    !found.sessions.length && h("p", {}, "None wrote anything in the last ten minutes."),
    h("ol", { class: "wall" }, found.sessions.map((one) => h("li", {}, h("a", { href: trajectoryLink(one.set, one.name, one.number) },
      one.number > 0 && h("img", { src: screenshot(one, one.number), alt: `page of ${one.name}` }),
      h("strong", {}, one.name), h("span", {}, ` step ${one.number}, ${one.thinking ? "thinking" : "acting"} for ${duration(one.idle_s)}`),
      h("span", { class: "hint" }, one.action))))),
  ];
}
