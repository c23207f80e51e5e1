// The table of trajectories: all rows are here, so a filter asks nobody; only a search for words does.
import { badge, crumbs, duration, figure, h, refill } from "./dom.js";
import { isExported, link, load, top, trajectoryLink } from "./source.js";

const PAGE = 100;
const CHOICES = { outcome: "outcome", round: "round", set: "set", site: "site", family: "task family", version: "policy version", judge: "judge" };
const COLUMNS = {
  task: "task", ques: "what was asked", set: "set", site: "site", outcome: "outcome", reason: "reason",
  steps: "steps", seconds: "time", value: "value", advantage: "advantage", surprise: "surprise", disagrees: "judges disagree",
};
const MEANINGS = { surprise: "the mean of -log p over the sampled tokens, none at temperature 0", advantage: "a trajectory's furthest from 0" };
let kept = { key: null, generation: -1 };
const addresses = new Map(); // of each run's table with the filters last set
let last = { address: null, shown: PAGE }; // how many rows of which table, for when it is drawn again
let order = []; // of the trajectories last shown, for the keys [ and ]

export const neighbor = (set, name, by) => {
  const at = order.findIndex((row) => row.set === set && row.name === name);
  return at < 0 ? undefined : order[at + by];
};

export const tableAddress = (key) => addresses.get(key) ?? link("rows", key);

export async function rowsPage(key, query) {
  const own = await allRows(key), { rows } = own;
  const state = { shown: last.address === location.hash ? last.shown : PAGE, sort: query.get("sort") ?? "task", down: query.get("down") === "1" };
  const found = new Map([["", null]]); // words -> ids
  const body = h("tbody"), counted = h("p", { role: "status" }), more = h("button", { click: () => { state.shown += PAGE; draw(); } }, "Show more");
  const words = h("input", { type: "search", value: query.get("words") ?? "", placeholder: `words of task${isExported ? "" : ", thoughts, actions"}  ( / )`, "aria-label": "search", id: "search" });
  const choices = Object.entries(CHOICES).map(([field, title]) => [field, choice(field, title, rows, query)]);
  const least = bound("least steps", query.get("least")), most = bound("most steps", query.get("most"));
  const disagree = h("input", { type: "checkbox", checked: query.get("disagree") === "1" });
  const groups = h("input", { type: "checkbox", checked: query.get("groups") === "1" });
  const headRow = h("tr"), caption = h("caption");
  let columns, heads, ids = null, listed = [];
  function layOut() {
    columns = Object.keys(COLUMNS).filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined && row[name] !== "" && row[name] !== 0));
    caption.textContent = columns.filter((name) => MEANINGS[name]).map((name) => `${COLUMNS[name]}: ${MEANINGS[name]}`).join("; ");
    heads = columns.map((name) => h("th", { scope: "col" }, h("button", { class: "sort", click: () => {
      state.down = state.sort === name ? !state.down : ["value", "advantage", "surprise", "steps"].includes(name);
      state.sort = name;
      draw();
    } }, COLUMNS[name])));
    draw();
  }

  let waiting;
  function keep() { // while its rows are on the screen: another page has the address otherwise
    if (!document.body.contains(body)) return;
    const said = new URLSearchParams();
    for (const [field, element] of choices) if (element.value) said.set(field, element.value);
    for (const [name, value] of [["words", words.value], ["least", least.value], ["most", most.value], ["disagree", disagree.checked && "1"],
      ["groups", groups.checked && "1"], ["sort", state.sort !== "task" && state.sort], ["down", state.down && "1"]]) if (value) said.set(name, value);
    const address = `${link("rows", key)}?${said}`;
    if (location.hash.split("?")[0] === link("rows", key)) history.replaceState(history.state, "", address);
    addresses.set(key, address);
    last = { address, shown: state.shown };
    order = listed;
  }
  function changed() {
    state.shown = PAGE;
    const asked = words.value.trim();
    clearTimeout(waiting);
    if (!found.has(asked)) {
      waiting = setTimeout(() => look(asked), 30);
      return;
    }
    draw();
  }
  async function look(asked) {
    try {
      found.set(asked, await search(key, rows, asked));
    } catch (error) {
      if (words.value.trim() === asked) counted.textContent = `nobody answered the search for ${asked}: ${error.message}`;
      return;
    }
    if (words.value.trim() === asked) draw(); // else other words were typed meanwhile
  }
  function draw() {
    const begun = performance.now();
    const isKnown = found.has(words.value.trim()); // else these are of the words before, until the answer comes
    if (isKnown) ids = found.get(words.value.trim());
    const wanted = choices.filter(([, element]) => element.value).map(([field, element]) => [field, element.value]);
    const low = least.value === "" ? -1 : +least.value, high = most.value === "" ? Infinity : +most.value;
    listed = rows.filter((row) => (!ids || ids.has(row.id)) && wanted.every(([field, value]) => row[field] === value)
      && row.steps >= low && row.steps <= high && (!disagree.checked || row.disagrees));
    listed.sort((a, b) => compare(a[state.sort], b[state.sort], state.down ? -1 : 1) || a.id - b.id);
    heads.forEach((head, at) => head.setAttribute("aria-sort", columns[at] !== state.sort ? "none" : state.down ? "descending" : "ascending"));
    const lines = groups.checked ? grouped(listed).slice(0, state.shown).map(groupLine)
      : listed.slice(0, state.shown).map((row) => line(row, columns));
    refill(headRow, ...(groups.checked ? [...["task", "ques"].map((name) => heads[columns.indexOf(name)] ?? h("th", { scope: "col" }, COLUMNS[name])), h("th", { scope: "col" }, "tries")] : heads));
    refill(body, ...lines);
    more.hidden = lines.length < state.shown;
    counted.textContent = `${listed.length} of ${rows.length} trajectories${own.unread ? `; ${own.unread} are still being read` : ""}${isKnown ? "" : "; searching"}`;
    counted.dataset.ms = (performance.now() - begun).toFixed(1);
    keep();
  }

  for (const element of [words, least, most]) element.addEventListener("input", changed);
  for (const element of [...choices.map(([, element]) => element), disagree, groups]) element.addEventListener("change", changed);
  found.set(words.value.trim(), words.value.trim() ? await search(key, rows, words.value.trim()) : null);
  layOut();
  own.filled?.then((areThere) => { if (areThere) layOut(); });
  const content = [
    crumbs(isExported ? ["exported", top ?? "#/"] : ["opened runs", "#/"], [key, link("run", key)], ["trajectories"]),
    h("h1", {}, `Trajectories of ${key}`),
    h("form", { class: "filters", submit: (event) => event.preventDefault() }, words, choices.map(([, element]) => element), least, most,
      h("label", {}, disagree, "judges disagree"), h("label", {}, groups, "tries of a task side by side")),
    counted,
    h("div", { class: "wide" }, h("table", { class: "rows" }, caption,
      h("thead", {}, headRow), body)), more,
  ];
  return Object.assign(content, { begin: keep });
}

async function allRows(key) {
  const { generation } = await load("state");
  if (kept.key !== key || kept.generation !== generation) {
    const { columns, sets, rounds, num_unread: unread } = await load("rows", { run: key });
    const names = Object.keys(columns);
    const rows = columns.id.map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
    for (const row of rows) {
      [row.set, row.round] = [sets[row.set], rounds[row.set]];
    }
    kept = { key, generation, unread, rows, thoughts: kept.key === key ? kept.thoughts : {} };
    kept.filled = fill(key, kept);
  }
  return kept;
}

// Values and advantages, which take longer than the rows: those known so far at once. Whether there are any.
async function fill(key, own) {
  const put = () => { for (const row of own.rows) [row.value, row.advantage] = own.thoughts[row.set]?.[row.name] ?? [null, null]; };
  put();
  own.thoughts = await load("thoughts", { run: key }).catch(() => own.thoughts);
  put();
  own.filled = null; // what is drawn from now on has them
  return Object.keys(own.thoughts).length > 0;
}

async function search(key, rows, words) {
  const asked = words.normalize("NFKC").toLowerCase().split(/\s+/); // the tasks' names and words stand here, which is all that exported pages hold
  const own = rows.filter((row) => asked.every((word) => `${row.task} ${row.ques}`.normalize("NFKC").toLowerCase().includes(word))).map((row) => row.id);
  return new Set([...own, ...(isExported ? [] : await load("search", { run: key, words }))]);
}

function choice(field, title, rows, query) {
  const counts = new Map();
  for (const row of rows) counts.set(row[field], (counts.get(row[field]) ?? 0) + 1);
  counts.delete(""); // a row that has none
  const asked = query.get(field), most = [...counts.keys()].sort().slice(0, 500);
  const values = !asked || most.includes(asked) ? most : [...most, asked]; // what the address asks for is never dropped
  const left = counts.size > values.length ? `, ${values.length} of ${counts.size} below` : "";
  const options = values.map((value) => h("option", { value, selected: asked === value }, `${value} (${counts.get(value) ?? 0})`));
  return h("select", { "aria-label": title, id: `filter-${field}` }, h("option", { value: "" }, `any ${title}${left}`), options);
}

function bound(title, value) {
  return h("input", { type: "number", min: 0, class: "bound", placeholder: title, "aria-label": title, value: value ?? "" });
}

function compare(a, b, sign) { // what is absent stands last, up or down
  const [isAbsent, isOther] = [a, b].map((value) => value === null || value === undefined || value === "");
  if (isAbsent || isOther) return isAbsent - isOther;
  return a < b ? -sign : a > b ? sign : 0;
}

function cell(row, name) {
  if (name === "task") return h("a", { href: trajectoryLink(row.set, row.name) }, row.run === null ? row.task : `${row.task}, try ${row.run}`);
  if (name === "outcome") return badge(row.outcome);
  if (name === "seconds") return duration(row.seconds);
  if (name === "disagrees") return row.disagrees ? "yes" : "";
  if (name === "set") return row.set.slice(row.set.indexOf("/") + 1);
  if (name === "reason") return row.reason.length > 120 ? `${row.reason.slice(0, 120)}...` : row.reason;
  return typeof row[name] === "number" ? figure(row[name]) : row[name] ?? "";
}

const line = (row, columns) => h("tr", {}, columns.map((name) => h("td", { class: `column-${name}` }, cell(row, name))));

function grouped(rows) {
  const byTask = new Map();
  for (const row of rows) {
    if (!byTask.has(row.task)) byTask.set(row.task, []);
    byTask.get(row.task).push(row);
  }
  return [...byTask.values()];
}

function groupLine(tries) {
  const chips = tries.map((row) => h("a", { href: trajectoryLink(row.set, row.name), class: "try" }, `${cell(row, "set")} `, row.run === null ? "" : `try ${row.run} `,
    badge(row.outcome), ` ${row.steps} steps`, row.advantage !== null && ` A ${figure(row.advantage)}`));
  return h("tr", {}, h("td", {}, tries[0].task), h("td", {}, tries[0].ques), h("td", {}, h("div", { class: "tries" }, chips)));
}
