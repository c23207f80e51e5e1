// A run: rounds with intervals, sets of trajectories, time by stage, faults, curves of training that go on.
import { curve, rates } from "./chart.js";
import { badge, crumbs, duration, figure, h, percent, points, table } from "./dom.js";
import { isExported, link, load, top } from "./source.js";

const chosen = {}; // sets to compare, for when the page is drawn again

export async function runPage(key) {
  const [run, trained, state] = await Promise.all([load("run", { run: key }), load("curves", { run: key }), load("state")]);
  const order = run.rounds.map((round) => round.name), place = (set) => order.indexOf(set.name.split("/")[0]) + 1 || order.length + 1;
  run.sets.sort((a, b) => place(a) - place(b));
  const others = state.runs.filter((other) => other.key !== key).flatMap((other) => other.sets.map((set) => ({ key: set, name: set })));
  const tested = run.rounds.filter((round) => round.success_rate !== null).map((round) => ({ ...round, rate: round.success_rate }));
  return [
    crumbs(isExported ? ["exported", top] : ["opened runs", "#/"], [key]),
    h("h1", {}, key),
    h("p", {}, h("a", { href: link("rows", key) }, "All trajectories"), !isExported && [" · ", h("a", { href: "#/live" }, "Sessions under way")]),
    run.at_work.map((work) => h("p", { class: "at-work", role: "status" }, `at work: ${work.what}, ${work.done ?? "?"}/${work.total ?? "?"}; ${work.facts}`)),
    run.num_unread > 0 && h("p", { class: "hint", role: "status" }, `${run.num_unread} trajectories are still being read; what stands below is of the others`),
    run.num_left_out > 0 && h("p", { class: "problem" }, `${run.num_left_out} folders are left out: their names are not plain text`),
    tested.length > 0 && h("section", {}, h("h2", {}, "Success on the test tasks"), h("div", { class: "wide" }, rates(tested)), roundTable(run.rounds)),
    run.versions.length > 0 && h("section", {}, h("h2", {}, "What each version was learned of"), versionTable(key, run.versions)),
    run.sets.length > 0 && h("section", {}, h("h2", {}, "Sets of trajectories"), setTable(key, run.sets), compareForm(isExported ? run.sets.filter(isTest) : run.sets, others)),
    Object.keys(run.families).length > 1 && h("section", {}, h("h2", {}, "Tests by task family"), familyTable(key, run)),
    run.faults.length > 0 && h("section", {}, h("h2", {}, "Faults by kind"), table("What ended trajectories that prove nothing", ["kind", "trajectories"], run.faults)),
    run.stages.length > 0 && h("section", {}, h("h2", {}, "Time by stage, of the last sitting"), stages(run.stages)),
    trained.length > 0 && h("section", {}, h("h2", {}, "Training"), trained.map(({ name, along, curves }) => [
      h("h3", {}, [...new Set(name.split("/"))].join("/")), h("div", { class: "curves" }, Object.entries(curves).map(([metric, points]) => curve(metric, points, along, along === "version" ? (at) => roundLink(key, `version ${at}`) : null)))])),
  ];
}

const roundLink = (key, round, rest = "") => `${link("rows", key)}?round=${encodeURIComponent(round)}${rest}`;

function versionTable(key, versions) {
  const rows = versions.map((one) => [h("a", { href: roundLink(key, one.name) }, one.name), one.groups, one.num_tries, percent(one.rate) || "-", one.interval?.map(percent).join(" to "),
    Object.entries(one.outcomes).sort().map(([outcome, count]) => h("a", { class: "tally", href: roundLink(key, one.name, `&outcome=${outcome}`) }, badge(outcome), ` ${count} `)), one.mean_steps]);
  return table("By try; tries of one task are alike, so intervals are too narrow. Groups that taught nothing were dropped", ["", "groups", "tries", "share", "95 %", "trajectories", "steps"], rows);
}

function roundTable(rounds) {
  const rows = rounds.map((round) => {
    const change = round.change;
    return [round.name, percent(round.success_rate), round.interval?.map(percent).join(" to "), round.num_tasks !== null && `${round.num_success ?? "-"}/${round.num_tasks}`,
      percent(round.control), round.num_invalid, figure(round.mean_steps), change && ![change.won, change.lost].includes(null) && `${change.won}:${change.lost}, p ${figure(change.p_value, 2)}`,
      change && change.mean !== null && `${points(change.mean)}${change.interval ? ` (${change.interval.map(points).join(" to ")})` : ""}`];
  });
  return table("95 % intervals; the change is against the round before, on the same tasks",
    ["round", "success", "95 %", "solved", "control", "invalid", "steps", "won:lost", "change in points (95 %)"], rows);
}

function setTable(key, sets) {
  const rows = sets.map((set) => [
    h("a", { href: link("rows", key) + `?set=${encodeURIComponent(set.key)}` }, set.name),
    set.num_tasks ? `${set.num_solved}/${set.num_tasks}` : "-", percent(set.rate) || "-", set.interval?.map(percent).join(" to "),
    Object.entries(set.outcomes).sort().map(([outcome, count]) => h("a", { class: "tally",
      href: `${link("rows", key)}?set=${encodeURIComponent(set.key)}&outcome=${outcome}` }, badge(outcome), ` ${count} `)),
    set.mean_steps, duration(set.seconds),
    set.judging && `${figure(set.judging.usd)} USD, ${set.judging.num_requests} requests, ${set.judging.prompt_tokens + set.judging.completion_tokens} tokens`,
    set.s_at && [...set.s_at.map((share, k) => `S@${k + 1} ${percent(share)}`), `F@1 ${percent(set.f_at_1)}`].join(", ")]);
  return table("By task; faults and what nobody judged left out. The time of steps is summed over sessions, which run side by side", ["set", "solved", "share", "95 %", "trajectories", "steps", "time of steps", "judging", "tries"], rows);
}

function familyTable(key, run) {
  const tests = run.sets.filter((set) => Object.values(run.families).some((counts) => counts[set.key]));
  const rows = Object.entries(run.families).map(([family, counts]) => [family, ...tests.map((set) => counts[set.key] &&
    h("a", { href: `${link("rows", key)}?set=${encodeURIComponent(set.key)}&family=${encodeURIComponent(family)}` }, counts[set.key].join("/")))]);
  return table("Solved of those judged", ["family", ...tests.map((set) => set.name)], rows);
}

const isTest = (set) => set.name.endsWith("test");

function compareForm(own, others) {
  const sets = [...own, ...others], tests = own.filter(isTest);
  if (sets.length < 2) return null;
  const choice = (name, given) => {
    const one = sets.find((set) => set.key === chosen[name]) ?? given;
    return h("select", { "aria-label": name, change: ({ target }) => { chosen[name] = target.value; } },
      sets.map((set) => h("option", { value: set.key, selected: set === one }, set.name)));
  };
  const before = choice("before", tests.at(-2) ?? sets[0]), after = choice("after", tests.at(-1) ?? sets.at(-1));
  const go = () => { location.hash = link("compare", before.value, after.value); };
  return h("p", {}, "Compare ", before, " with ", after, " ", h("button", { click: go }, "Compare on the same tasks"));
}

function stages(found) {
  const most = Math.max(...found.map(([, seconds]) => seconds), 1);
  return h("div", { class: "wide" }, h("table", { class: "stages" }, h("caption", {}, `${duration(found.reduce((sum, [, seconds]) => sum + seconds, 0))} together`),
    h("tbody", {}, found.map(([name, seconds]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, duration(seconds)),
      h("td", {}, h("meter", { min: 0, max: most, value: seconds, "aria-label": `${name}: ${duration(seconds)}` })))))));
}
