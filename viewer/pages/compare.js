// Two sets on the same tasks: what was won and lost, and the first step where they part.
import { badge, crumbs, figure, h, points, table } from "./dom.js";
import { link, load, trajectoryLink } from "./source.js";

const MOST = 500; // tasks without a change

export async function comparePage(before, after) {
  const found = await load("compare", { before, after });
  const change = found.change;
  const cell = (row, side) => h("a", { class: "tally", href: trajectoryLink(found[side], row[side].name, row.parts_at ?? 1) }, badge(row[side].outcome), `\u00a0${row[side].steps}\u00a0steps`);
  const own = (key) => (key.startsWith(`${found.opened}/`) ? key.slice(found.opened.length + 1) : key);
  const rows = (tasks) => tasks.map((row) => [h("a", { href: `${link("rows", found.opened)}?${new URLSearchParams({ words: row.task, groups: 1 })}` }, row.task), row.ques, cell(row, "before"), cell(row, "after"), row.parts_at && `step ${row.parts_at}: ${row.did[0] || "no action"} | ${row.did[1] || "no action"}`]);
  const titles = ["task", "what was asked", own(before), own(after), "they part at"];
  const where = (by) => found.tasks.filter((row) => Math.sign(row.after.share - row.before.share) === by);
  const listed = (heading, tasks) => tasks.length > 0 && h("section", {}, h("h2", {}, heading), table("", titles, rows(tasks)));
  const same = where(0);
  return [
    crumbs(["opened runs", "#/"], [found.opened, link("run", found.opened)], ["compare"]),
    h("h1", {}, `${own(before)} and ${own(after)}`),
    h("p", {}, change ? `${change.num_tasks} tasks of both: ${change.won} won, ${change.lost} lost; ${points(change.mean)} points ` +
      `(95 % ${change.interval.map(points).join(" to ")}), p ${figure(change.p_value, 2)} of the exact sign test` : found.tasks.length ? "They share one task." : "They share no task."),
    found.unproven.some(Boolean) && h("p", {}, `Left out: ${found.unproven.join(" and ")} trajectories that nobody judged or a fault ended.`),
    found.tasks.length > found.num_read && h("p", { class: "hint" }, `Where they part is told of the first ${found.num_read} tasks, those with a change first.`),
    listed(`Lost by ${own(after)}`, where(-1)),
    listed(`Won by ${own(after)}`, where(1)),
    same.length > 0 && h("details", {}, h("summary", {}, `${same.length} tasks without a change`), table(same.length > MOST ? `the first ${MOST}` : "", titles, rows(same.slice(0, MOST)))),
  ];
}
