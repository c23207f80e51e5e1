// Which page the address asks for: #/run/RUN, #/rows/RUN?filters, #/t/SET/TRAJECTORY/STEP, #/compare/SET/SET, #/live.
import { comparePage } from "./compare.js";
import { crumbs, h, show } from "./dom.js";
import { livePage } from "./live.js";
import { rowsPage } from "./rows.js";
import { runPage } from "./run.js";
import { hasTrajectory, isExported, load, runLink } from "./source.js";
import { isUnderWay, lookAgain, trajectoryKeys, trajectoryPage } from "./trajectory.js";

const EVERY_MS = 3000, WALL_EVERY_MS = 10000;
const stampOf = (state) => state.runs.map((run) => run.written).join();
let generation = -1, written = "", turns = 0;

const pages = {
  run: ([key]) => runPage(key),
  rows: ([key], query) => rowsPage(key, query),
  t: ([set, name, step]) => trajectoryPage(set, name, +step),
  compare: ([before, after]) => comparePage(before, after),
  live: livePage,
};

history.scrollRestoration = "manual";

async function go(at = null) { // `at`: how far down the page begins; null leaves it
  const turn = (turns += 1);
  let content, problem = "";
  try {
    const [path, query] = location.hash.slice(2).split("?");
    const [kind, ...parts] = path.split("/").map(decodeURIComponent);
    if (!isExported && kind !== "live") {
      const state = await load("state");
      ({ generation, problem } = state);
      written = stampOf(state);
    }
    if (kind && !Object.hasOwn(pages, kind)) throw new Error(`this address shows nothing: ${location.hash.slice(0, 200)}`);
    content = await (kind ? pages[kind](parts, new URLSearchParams(query)) : home());
  } catch (error) {
    content = [crumbs(["opened runs", "#/"]), h("p", { class: "problem", role: "alert" }, error.message)];
  }
  if (turn !== turns) return; // another page was asked for in the meantime
  if (content) show(problem && h("p", { class: "problem", role: "alert" }, problem), content);
  document.title = `${(document.querySelector("h1")?.textContent ?? "Not found").slice(0, 80)} · Elcano`;
  if (at !== null) scrollTo(0, at);
}

async function home() {
  if (hasTrajectory) {
    const one = await load("trajectory");
    return trajectoryPage(one.set, one.name, 1);
  }
  const { runs, gone } = await load("state");
  if (runs.length === 1 && !gone.length) return runPage(runs[0].key);
  return [h("h1", {}, isExported ? "Exported runs" : "Opened runs"), !isExported && h("p", {}, h("a", { href: "#/live" }, "Sessions under way")),
    gone.map((name) => h("p", { class: "problem" }, `${name} is no longer there`)),
    h("ul", {}, runs.map((run) => h("li", {}, h("a", { href: runLink(run.key) }, run.key), ` ${run.sets.length} sets of trajectories`)))];
}

async function keepUp() {
  const kind = location.hash.slice(2).split("/")[0];
  if (document.hidden || kind === "compare" || (kind === "t" && !isUnderWay())) return;
  if (kind !== "live") {
    const state = await load("state");
    const isNew = state.generation !== generation || (["", "run"].includes(kind) && stampOf(state) !== written) || document.querySelector(".at-work");
    if (!isNew || document.activeElement?.matches("input, select")) return;
    if (kind === "t") lookAgain();
  }
  await go();
}

function keepOn() {
  const wait = location.hash === "#/live" ? WALL_EVERY_MS : EVERY_MS;
  setTimeout(() => keepUp().catch(() => {}).finally(keepOn), wait);
}

let scrolled;
const remember = () => history.replaceState({ at: scrollY }, ""); // so that going back finds the same place
addEventListener("scroll", () => {
  clearTimeout(scrolled);
  scrolled = setTimeout(remember, 100);
});
addEventListener("click", remember, { capture: true });
addEventListener("hashchange", () => {
  clearTimeout(scrolled);
  go(history.state?.at ?? 0);
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.getElementById("search")) {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "Escape" && location.hash.startsWith("#/t/")) history.back();
  else trajectoryKeys(event);
});
if (!isExported) keepOn();
await go(history.state?.at ?? 0);
