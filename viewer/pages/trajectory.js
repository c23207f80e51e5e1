// One trajectory: the page at each step with the acted element, what was thought, done, said of it and worth.
import { curve } from "./chart.js";
import { badge, crumbs, duration, h, refill, svg, told } from "./dom.js";
import { exported, exportLink, isExported, label, link, load, screenshot, top, trajectoryLink } from "./source.js";
import { reading } from "./reading.js";
import { neighbor, tableAddress } from "./rows.js";

const ENDS = { finished: "the agent answered", max_steps: "no steps left", blocked: "the website turned the agent away", invalid: "by a fault" };
const MOST_LINES = 2000; // of a page's elements
let shown = null; // {key, step, go, toggle} of the trajectory on the screen

export async function trajectoryPage(set, name, step) {
  const key = `${set}/${name}`;
  const open = shown?.key === key && document.body.contains(shown.place) ? shown : null;
  if (open && !open.isOld) {
    open.show(step);
    return null;
  }
  const newer = await made(set, name, key, open);
  if (open) open.isOld = false;
  if (!newer) return null; // nothing new is not drawn
  newer.own.show(step);
  return Object.assign(newer.content, { begin: () => {
    shown = newer.own;
    shown.reveal();
  } });
}

export const isUnderWay = () => shown && !(shown.one.status && shown.one.verdicts[0]) && ![...document.querySelectorAll("main input")].some((field) => field.value !== field.defaultValue);

export function lookAgain() {
  shown.isOld = true;
}

// Back to the table, or to the page of this viewer that led here.
export function leave() {
  if (isExported || history.state?.from) history.back();
  else location.hash = shown ? tableAddress(shown.one.opened) : "#/";
}

export function trajectoryKeys(event) {
  if (!shown || !document.body.contains(shown.place)) return;
  const moves = { ArrowLeft: () => shown.go(-1), ArrowRight: () => shown.go(1), Home: () => shown.go(-Infinity), End: () => shown.go(Infinity),
    a: () => shown.toggle(), s: () => shown.say?.("success"), f: () => shown.say?.("failure"), "[": () => shown.other(-1), "]": () => shown.other(1) };
  if (moves[event.key]) {
    event.preventDefault();
    moves[event.key]();
  }
}

async function made(set, name, key, open) {
  const one = await load("trajectory", { set, name });
  if (open && JSON.stringify(one) === JSON.stringify(open.one)) return null;
  const place = h("div", { class: "trajectory" });
  const strip = h("ol", { class: "strip", "aria-label": "steps" });
  const state = open?.state ?? { number: 1, after: false, open: new Set(), colored: null, size: null };
  const own = {
    key, place, one, state,
    show(number) {
      const wanted = Math.min(Math.max(1, Math.trunc(number) || 1), one.steps.length);
      state.after &&= wanted === state.number;
      state.number = wanted;
      draw();
    },
    go(by) {
      const number = Math.min(Math.max(1, state.number + by), one.steps.length);
      history.replaceState(history.state, "", link("t", set, name, number));
      own.show(number);
    },
    reveal() { // in the strip, which scrolls by itself: the page stays where it is
      const [item, view] = [strip.children[state.number - 1], strip].map((one) => one?.getBoundingClientRect());
      if (item) strip.scrollLeft += Math.min(0, item.left - view.left) || Math.max(0, item.right - view.right);
    },
    toggle() {
      state.after = !state.after && state.number < one.steps.length;
      draw();
    },
    other(by) {
      const next = neighbor(set, name, by);
      if (!next) return;
      history.replaceState({ from: history.state?.from ?? null }, "", trajectoryLink(next.set, next.name)); // so that one step back is the table
      dispatchEvent(new Event("hashchange"));
    },
  };
  function draw() {
    if (!one.steps.length) return place.replaceChildren(h("p", { class: "problem" }, "No step was written."));
    refill(place, ...stepView(one, one.steps[state.number - 1], state, own));
    [...strip.children].forEach((item, at) => item.firstChild.setAttribute("aria-current", at + 1 === state.number ? "step" : "false"));
    own.reveal();
  }
  strip.append(...one.steps.map((step) => h("li", {}, h("button", { click: () => own.go(step.number - state.number), title: step.action },
    picture(one, step.number, "lazy"), h("span", {}, `${step.number}. ${step.action.slice(0, 40) || "no action"}`)))));
  const content = [
    crumbs(isExported ? ["exported"] : ["opened runs", "#/"], ...(isExported && !top ? [] : [[one.opened, (top ?? "") + link("run", one.opened)], ["trajectories", (top ?? "") + tableAddress(one.opened)]]), [name]),
    h("h1", {}, one.ques || one.task),
    h("p", {}, badge(one.verdicts[0]?.verdict ?? (one.status ? "unjudged" : "unfinished")), " ", one.task, one.run === null ? "" : `, try ${one.run}`,
      one.web && ` on ${one.web}`, one.status && `; it ended: ${ENDS[one.status] ?? one.status}`, one.answer && `; answer: ${one.answer}`, one.reason && `; ${one.reason}`),
    one.problems.map((problem) => h("p", { class: "problem" }, problem)),
    judged(own), truth(one), strip, place, alongSteps(one), about(one),
    h("p", { class: "hint" }, isExported ? "Keys: ← → step, ↑ ↓ element, a what came of it" : "Keys: ← → step, ↑ ↓ element, a what came of it, s f your verdict: success, failure; [ ] trajectory before and after in the table, Esc back to it"),
  ];
  return { own, content };
}

function truth(one) {
  return (one.expected || one.left) && h("details", {}, h("summary", {}, "What was expected, and what was left"),
    one.expected && h("pre", {}, one.expected), one.answer && h("p", {}, `Answer: ${one.answer}`), one.left && [h("p", { class: "hint" }, "The website's state at the end:"), h("pre", {}, one.left)]);
}

function verdicts(one) {
  return one.verdicts.filter(Boolean).map((verdict) => h("details", { class: "verdict", open: verdict.verdict !== "success" },
    h("summary", {}, `${verdict.judge || "a judge"} says `, badge(verdict.verdict), verdict.reason && `: ${verdict.reason}`),
    verdict.raw && [h("p", { class: "hint" }, "It said:"), h("pre", {}, verdict.raw)], verdict.prompt_hash && h("p", {}, `prompt ${verdict.prompt_hash}`)));
}

function stepView(one, step, state, shown) {
  const number = state.after ? step.number + 1 : step.number;
  const seen = one.steps[number - 1], next = one.steps[step.number];
  const acted = state.after ? [] : step.labels, places = state.after ? [] : step.places;
  const marks = svg("svg", { class: "marks", "aria-hidden": "true" });
  const lines = treeLines(seen, acted, mark);
  const image = picture(one, number);
  const [wide, high] = state.size ?? []; // the place of a page is kept for the next one
  if (wide) for (const [name, value] of [["width", wide], ["height", high]]) image.setAttribute(name, value);
  const page = h("div", { class: "page", click: (event) => pick(event) }, image, marks);
  function size() {
    if (image.naturalWidth) state.size = [image.naturalWidth, image.naturalHeight];
    const [width, height] = one.viewport ?? [image.naturalWidth, image.naturalHeight];
    marks.setAttribute("viewBox", `0 0 ${width || 1024} ${height || 768}`);
    mark(null);
  }
  function mark(chosen) {
    const kinds = [...acted.map((label) => [label, "acted"]), ...(chosen === null ? [] : [[chosen, "chosen"]])];
    const { width, height } = marks.viewBox.baseVal;
    const touched = places.map((points) => points.map(([x, y]) => [x * width, y * height])).flatMap((points) => [
      ...points.map(([x, y], at) => svg("circle", { cx: x, cy: y, r: at ? width / 120 : width / 60, class: at ? "acted end" : "acted" })),
      svg("polyline", { points: points.map((point) => point.join()).join(" "), class: "acted" })]);
    marks.replaceChildren(...touched, ...kinds.flatMap(([label, kind]) => {
      const box = seen.boxes[label];
      return box ? [svg("rect", { x: box[0], y: box[1], width: Math.max(1, box[2]), height: Math.max(1, box[3]), class: kind })] : [];
    }));
    for (const line of lines.children) line.classList.toggle("chosen", chosen !== null && line.dataset.label === String(chosen));
  }
  function pick(event) {
    const rect = page.getBoundingClientRect(), view = marks.viewBox.baseVal;
    const x = ((event.clientX - rect.left) / rect.width) * view.width, y = ((event.clientY - rect.top) / rect.height) * view.height;
    const under = Object.entries(seen.boxes).filter(([, [left, top, wide, high]]) => x >= left && y >= top && x <= left + wide && y <= top + high);
    if (!under.length) return mark(null);
    const [chosen] = under.reduce((least, one) => (one[1][2] * one[1][3] < least[1][2] * least[1][3] ? one : least));
    mark(chosen);
    lines.querySelector(".chosen")?.scrollIntoView({ block: "center" });
  }
  image.addEventListener("load", size);
  size();
  const unmarked = acted.length > 0 && !acted.some((label) => seen.boxes[label]);
  return [
    h("section", { class: "stage", "aria-label": "page" },
      h("p", { class: "address" }, seen.url), page,
      h("p", { class: "buttons" },
        h("button", { click: () => shown.go(-1), "aria-disabled": String(step.number === 1) }, "← before"),
        h("button", { id: "toggle", click: () => shown.toggle(), "aria-disabled": String(!next), "aria-pressed": String(state.after) }, state.after ? "the page it acted on" : "what came of it"),
        h("button", { click: () => shown.go(1), "aria-disabled": String(!next) }, "next →"),
        h("span", {}, state.after ? ` page ${number}, after step ${step.number}` : ` step ${step.number} of ${one.steps.length}`)),
      unmarked && h("p", { class: "hint" }, "Where the element lay was not recorded.")),
    h("section", { class: "said", "aria-label": "step" },
      step.feedback && h("p", { class: "feedback" }, `It was told: ${[step.feedback, step.notes].join(" ")}`),
      h("h2", {}, "Thought"), h("p", { class: "thought" }, step.thought || "(none)"),
      h("h2", {}, "Action"), h("p", { class: "action" }, step.action || "(none)"),
      next && (next.feedback || next.notes) && h("p", { class: "feedback" }, `What came of it: ${next.feedback} ${next.notes}`),
      numbers(step), reading(one, step, state),
      h("h2", {}, state.after ? `Elements of page ${number}, after step ${step.number}` : "Elements"), lines),
  ];
}

function treeLines(seen, acted, mark) {
  const texts = (seen.tree ?? "(none)").split("\n");
  const lines = texts.slice(0, MOST_LINES).map((text) => {
    const label = text.match(/^\s*\[(\d+)\]/)?.[1];
    const isActed = label !== undefined && acted.includes(+label);
    return h("li", { class: isActed ? "acted" : "", "data-label": label, tabindex: label === undefined ? null : -1,
      mouseenter: () => mark(label ?? null), focus: () => mark(label ?? null) }, text.replaceAll("\t", "  "));
  });
  const elements = lines.filter((line) => line.hasAttribute("tabindex"));
  elements[0]?.setAttribute("tabindex", 0); // Tab goes to one and on to what is below, arrows go from one to the next
  function walk(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key], from = elements.indexOf(event.target), to = elements[from + by];
    if (!by || from < 0) return;
    event.preventDefault();
    if (!to) return;
    elements[from].setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  }
  const left = texts.length > MOST_LINES && h("li", {}, `(${MOST_LINES} of ${texts.length} lines are shown)`);
  return h("ol", { class: "tree", "aria-label": "what the model read of the page", mouseleave: () => mark(null), keydown: walk }, lines, left);
}

function picture(one, number, loading = "eager") {
  const source = screenshot(one, number);
  const missing = () => h("p", { class: "problem" }, `screenshot${number}.png is missing or no picture`);
  if (!source) return missing();
  return h("img", { src: source, alt: `page at step ${number}`, loading, error: (event) => event.target.replaceWith(missing()) });
}

function numbers(step) {
  const facts = [...Object.entries(step.columns).map(([name, value]) => `${name} ${told(value)}`),
    ...Object.entries(step.timings).map(([name, value]) => `${name.replace(/_s$/, "")} ${duration(value)}`),
    step.tokens[1] && `${step.tokens[0]} prompt tokens, ${step.tokens[1]} of the reply`, step.version].filter(Boolean);
  return [facts.length > 0 && h("p", { class: "facts" }, facts.join(" · ")),
    step.candidates.length > 0 && h("details", {}, h("summary", {}, `${step.candidates.length} other actions were drawn here`),
      h("ul", {}, step.candidates.map((other) => h("li", {}, `${other.action}: `,
        Object.entries(other.columns).map(([name, value]) => `${name} ${told(value)}`).join(" · ")))))];
}

function alongSteps(one) {
  const names = [...new Set(one.steps.flatMap((step) => Object.keys(step.columns)))];
  const surprise = one.steps.filter((step) => step.logprobs.length).map((step) => [step.number, -step.logprobs.reduce((sum, one) => sum + one, 0) / step.logprobs.length]);
  const curves = names.map((name) => [name, one.steps.filter((step) => Object.hasOwn(step.columns, name)).map((step) => [step.number, step.columns[name]])]);
  if (surprise.length > 1 && surprise.some(([, value]) => value > 0)) curves.push(["surprise", surprise]);
  return curves.length > 0 && h("section", {}, h("h2", {}, "Along the steps"), h("div", { class: "curves" }, curves.map(([name, points]) => curve(name, points))));
}

function about(one) {
  const copied = h("span", { role: "status" });
  const commands = h("pre", { class: "commands" }, one.commands.join("\n"));
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(one.commands.join("\n"));
      copied.textContent = " copied";
    } catch { // browsers give it to https and this machine's own pages only
      getSelection().selectAllChildren(commands);
      copied.textContent = " they are selected: this browser copies them by Ctrl-C only";
    }
  };
  const made = h("span", { role: "status" });
  const make = (kind, said) => h("a", { href: exportLink(kind, one), click: async (event) => {
    event.preventDefault();
    made.textContent = " It is being made; the words of the tokens take up to half a minute.";
    try {
      const { name, address } = await exported(kind, one);
      h("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      made.textContent = ` made: ${name}`;
    } catch (error) {
      made.textContent = ` ${error.message}`;
    }
  } }, said);
  return h("section", {}, h("h2", {}, "How it was taken"),
    one.commands.length > 0 && [commands, h("p", {}, h("button", { click: copy }, "Copy the commands"), copied)],
    h("details", {}, h("summary", {}, "Provenance"), h("pre", {}, one.provenance)),
    !isExported && h("p", {}, make("export", "Export as one HTML file"), " · ", make("film", "as a GIF of its steps"), made));
}

function judged(shown) {
  const { one } = shown;
  const told = h("div", {}, verdicts(one));
  if (isExported) return told;
  const own = () => one.verdicts.find((verdict) => verdict?.judge === "person");
  const note = h("input", { "aria-label": "note", placeholder: "note", maxlength: 2000, value: own()?.reason ?? "" });
  const said = h("span", { role: "status" });
  const choices = ["success", "failure"].map((verdict) => h("button", { click: () => say(verdict) }, verdict));
  const away = h("button", { click: () => say("") }, "take my verdict away");
  function mark() {
    for (const choice of choices) choice.setAttribute("aria-pressed", String(choice.textContent === own()?.verdict));
    away.hidden = !own();
  }
  async function say(verdict) {
    try {
      await label(one, verdict, note.value, own());
    } catch (error) {
      said.textContent = ` ${error.message}`;
      return;
    }
    one.verdicts = one.verdicts.filter((other) => other?.judge !== "person");
    if (!one.verdicts.length) one.verdicts.push(null); // the first is the trajectory's own
    if (verdict) one.verdicts.push({ verdict, reason: note.value, judge: "person" });
    told.replaceChildren(...verdicts(one));
    said.textContent = verdict ? " kept" : " taken away";
    mark();
  }
  shown.say = say;
  mark();
  return [told, h("p", { class: "buttons", role: "group", "aria-label": "your verdict" }, "Your verdict:", choices, note, away, said)];
}
