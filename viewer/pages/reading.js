// What the model was asked at a step, and the tokens of it that training reads, each colored by what is known of it.
import { figure, h } from "./dom.js";
import { load } from "./source.js";

const read = new Map(); // of the newest trajectory: its key -> a promise of its tokens
const SAMPLED = "sampled", IDS = "the reply's tokens by number";

export function reading(one, step, state) {
  return [
    pane(state, "prompt", "What the model was asked", () => prompt(one, step)),
    pane(state, "tokens", "Tokens", () => tokens(one, step, state)),
  ];
}

function pane(state, name, title, made) {
  const place = h("div");
  const toggled = async ({ target }) => {
    state.open[target.open ? "add" : "delete"](name);
    if (!target.open || place.hasChildNodes()) return;
    place.replaceChildren(h("p", { class: "hint", role: "status" }, "reading; the first time it takes a while"));
    place.replaceChildren(...[await made()].flat(Infinity).filter(Boolean));
  };
  return h("details", { toggle: toggled, open: state.open.has(name) }, h("summary", {}, title), place);
}

async function prompt(one, step) {
  const turns = await load("prompt", { set: one.set, name: one.name, number: step.number }).catch((error) => [{ role: "not shown", text: error.message }]);
  return turns.map(({ role, text }) => [h("h3", {}, role), h("pre", {}, text)]);
}

async function tokens(one, step, state) {
  const key = `${one.set}/${one.name}`;
  if (!read.has(key)) {
    read.clear();
    read.set(key, load("tokens", { set: one.set, name: one.name }).catch((error) => ({ problem: error.message })));
  }
  const told = await read.get(key);
  const found = told.steps?.[step.number - 1] ?? {}, problem = told.problem ?? found.problem;
  if (problem && !step.token_ids.length) return h("p", { class: "hint" }, problem);
  const rows = problem ? ofIds(step) : found, known = Object.keys(rows.columns);
  const kinds = [...known.map((name) => [name === SAMPLED ? "log-probability when sampled" : `log-probability, ${name}`, (at) => likely(rows.columns[name][at])]),
    ...(problem ? [] : [["loss mask", (at) => (rows.mask[at] ? ["m1", "predicted"] : ["m0", "not predicted"])]]),
    ...known.filter((name) => name !== SAMPLED).map((name) => [`ratio of ${name} to when sampled`, (at) => ratio(rows.columns[name][at], rows.columns[SAMPLED]?.[at])])
      .filter(() => known.includes(SAMPLED))];
  const shown = h("div", { class: "tokens" }), legend = h("p", { class: "legend" });
  const choice = h("select", { "aria-label": "color tokens by", change: () => draw(choice.value) },
    kinds.map(([title]) => h("option", { value: title, selected: title === state.colored }, title)));
  function draw(title) {
    const [, look] = kinds.find(([name]) => name === (state.colored = title)) ?? [];
    shown.replaceChildren(...rows.pieces.map((piece, at) => {
      const [kind, said] = look?.(at) ?? ["", ""];
      return h("span", { class: `token ${kind}`, title: `${rows.ids[at]}${said && `: ${said}`}` }, piece, rows.repeats[at] > 1 && ` × ${rows.repeats[at]} `);
    }));
    shown.scrollTop = (shown.children[rows.mask.indexOf(true)]?.offsetTop ?? 0) - shown.offsetTop - 60;
    legend.replaceChildren(...LEGENDS[title.split(/[ ,]/)[0]].map(([kind, said]) => h("span", { class: `token ${kind}` }, said)));
  }
  if (kinds.length) requestAnimationFrame(() => draw(choice.value)); // once it stands on the page, it can be scrolled
  const count = rows.repeats.reduce((sum, one) => sum + one, 0), predicted = rows.mask.filter(Boolean).length;
  return [
    problem ? h("p", { class: "hint" }, `${problem}; ${IDS}`)
      : h("p", { class: "hint" }, `${count} tokens by the tokenizer of ${told.policy}; ${predicted} are predicted (loss: ${told.loss})`),
    known.includes(SAMPLED) && h("p", { class: "hint" }, rows.columns[SAMPLED].some((value) => value < 0) ? `Least likely when sampled: ${least(rows)}` : "Sampled greedily (temperature 0): each token had probability 1."),
    h("p", {}, "Color by ", choice), legend, shown,
  ];
}

const ofIds = (step) => ({ pieces: step.token_ids.map((id) => `${id} `), ids: step.token_ids, repeats: step.token_ids.map(() => 1), mask: step.token_ids.map(() => true),
  columns: step.logprobs.length === step.token_ids.length && step.logprobs.length ? { [SAMPLED]: step.logprobs } : {} });

const LEGENDS = {
  "log-probability": [["p0", "p above 0.37"], ["p1", "to 0.14"], ["p2", "to 0.05"], ["p3", "to 0.02"], ["p4", "below"]],
  loss: [["m1", "predicted: the loss is on these"], ["m0", "read only"]],
  ratio: [["l2", "below 0.8"], ["l1", "to 0.95"], ["r0", "about 1"], ["r1", "from 1.05"], ["r2", "above 1.25"]],
};

function likely(logprob) {
  if (logprob === null || logprob === undefined) return ["", ""];
  return [`p${Math.min(4, Math.max(0, Math.floor(-logprob)))}`, `log p ${figure(logprob)}, p ${figure(Math.exp(logprob))}`];
}

function ratio(logprob, base) {
  if ([logprob, base].some((one) => one === null || one === undefined)) return ["", ""];
  const value = Math.exp(logprob - base);
  return [value < 0.8 ? "l2" : value < 0.95 ? "l1" : value <= 1.05 ? "r0" : value <= 1.25 ? "r1" : "r2", `ratio ${figure(value)}`];
}

function least(rows) {
  const known = rows.columns[SAMPLED].map((logprob, at) => [logprob, at]).filter(([logprob]) => logprob !== null);
  return known.sort(([a], [b]) => a - b).slice(0, 3).map(([logprob, at]) => `“${rows.pieces[at].trim() || "space"}” p ${figure(Math.exp(logprob))}`).join(", ");
}
