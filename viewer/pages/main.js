// Which page the address asks for: #/run/RUN, #/rows/RUN?filters, #/t/SET/TRAJECTORY/STEP, #/compare/SET/SET, #/live, #/data/REPORT.
import { comparePage } from "./compare.js";
import { dataPage } from "./data.js";
import { crumbs, h, show } from "./dom.js";
import { livePage } from "./live.js";
import { rowsPage } from "./rows.js";
import { runPage } from "./run.js";
import { hasTrajectory, isExported, link, load, runLink } from "./source.js";
import { isUnderWay, leave, lookAgain, trajectoryKeys, trajectoryPage } from "./trajectory.js";

const EVERY_MS = 3000, WALL_EVERY_MS = 15000;
const stampOf = (state) => state.runs.map((run) => run.written).join();
let generation = -1, written = "", turns = 0, ended = 0; // `ended`: the newest turn that came to its end

const pages = {
  run: ([key]) => runPage(key),
  rows: ([key], query) => rowsPage(key, query),
  t: ([set, name, step]) => trajectoryPage(set, name, +step),
  compare: ([before, after]) => comparePage(before, after),
  live: livePage,
  data: ([key]) => dataPage(key),
};

history.scrollRestoration = "manual";

const isTyping = () => document.activeElement?.matches("input, select");

// `at`: how far down the page begins; null leaves it. `isAgain`: the page that is shown, as it is now.
async function go(at = null, isAgain = false) {
  const turn = (turns += 1), asked = location.hash;
  let content, problem = "";
  try {
    const [path, query] = location.hash.slice(2).split("?");
    const [kind, ...parts] = path.split("/").map(decodeURIComponent);
    if (!isExported && kind !== "live") {
      const state = await load("state");
      ({ generation, problem } = state);
      written = stampOf(state);
    }
    if (kind && !Object.hasOwn(pages, kind)) throw new Error(nothingAt());
    content = await (kind ? pages[kind](parts, new URLSearchParams(query)) : home());
  } catch (error) {
    const said = error instanceof URIError ? nothingAt() : error.message;
    content = [crumbs(["opened runs", "#/"]), h("p", { class: "problem", role: "alert" }, said)];
  }
  if (turn !== turns) return; // another page was asked for in the meantime
  ended = turn;
  if (isAgain && (location.hash !== asked || isTyping())) { // what was chosen or typed in the meantime stays
    generation = -1;
    return;
  }
  if (content) show(problem && h("p", { class: "problem", role: "alert" }, problem), content);
  content?.begin?.();
  document.title = `${(document.querySelector("h1")?.textContent ?? "Not found").slice(0, 80)} · Elcano`;
  if (at !== null) scrollTo(0, at);
}

const nothingAt = () => `this address shows nothing: ${location.hash.slice(0, 200)}`;

async function home() {
  if (hasTrajectory) {
    const one = await load("trajectory");
    return trajectoryPage(one.set, one.name, 1);
  }
  const { runs, gone, reports = [] } = await load("state");
  if (runs.length === 1 && !gone.length && !reports.length) return runPage(runs[0].key);
  if (!runs.length && reports.length === 1) return dataPage(reports[0]);
  return [h("h1", {}, isExported ? "Exported runs" : "Opened runs"), !isExported && h("p", {}, h("a", { href: "#/live" }, "Sessions under way")),
    gone.map((name) => h("p", { class: "problem" }, `${name} is no longer there`)),
    h("ul", {}, reports.map((key) => h("li", {}, h("a", { href: link("data", key) }, key), " a report on data"))),
    h("ul", {}, runs.map((run) => h("li", {}, h("a", { href: runLink(run.key) }, run.key), ` ${run.sets.length} sets of trajectories`)))];
}

async function keepUp() {
  const kind = location.hash.slice(2).split("/")[0];
  if (document.hidden || ["compare", "data"].includes(kind) || (kind === "t" && !isUnderWay())) return;
  if (kind !== "live") {
    const state = await load("state");
    const isNew = state.generation !== generation || (["", "run"].includes(kind) && stampOf(state) !== written) || document.querySelector(".at-work");
    if (!isNew || isTyping()) return;
    if (kind === "t") lookAgain();
  }
  if (ended === turns) await go(null, true); // else a page is on its way
}

function keepOn() {
  const wait = location.hash === "#/live" ? WALL_EVERY_MS : EVERY_MS;
  setTimeout(() => keepUp().catch(() => {}).finally(keepOn), wait);
}

let scrolled;
const remember = () => history.replaceState({ ...history.state, at: scrollY }, ""); // so that going back finds the same place
history.replaceState({ from: null, ...history.state }, ""); // `from`: the address that led here; null: nobody's of this viewer
addEventListener("scroll", () => {
  clearTimeout(scrolled);
  scrolled = setTimeout(remember, 100);
});
addEventListener("click", remember, { capture: true });
addEventListener("hashchange", ({ oldURL }) => {
  clearTimeout(scrolled);
  if (history.state?.from === undefined) history.replaceState({ from: new URL(oldURL).hash || "#/" }, "");
  go(history.state?.at ?? 0);
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.getElementById("search")) {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "Escape" && location.hash.startsWith("#/t/")) leave();
  else trajectoryKeys(event);
});
if (!isExported) keepOn();
await go(history.state?.at ?? 0);
