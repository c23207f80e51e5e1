// Where data comes from: the viewer's answers, or what an exported page holds.

const embedded = document.getElementById("embedded");
const held = embedded && JSON.parse(embedded.textContent);

export const isExported = held !== null;

export async function load(what, given = {}) {
  if (held) {
    if (what === "prompt") return held.prompts[given.number];
    if (what === "compare") return held.compared?.[`${given.before} ${given.after}`] ?? absent();
    if (what in held) return held[what];
    absent();
  }
  return (await ask(`/answer/${what}?${new URLSearchParams(given)}`)).json();
}

async function ask(address, how = {}) {
  const response = await fetch(address, how).catch(() => { throw new Error("elcano view does not answer; it may have ended"); });
  if (!response.ok) throw new Error(await response.text());
  return response;
}

function absent() {
  throw new Error("an exported page does not hold this; elcano view does");
}

export function screenshot(one, number) {
  if (held) return held.images?.[number] ?? "";
  return `/screenshot?${new URLSearchParams({ set: one.set, name: one.name, number })}`;
}

export function thumbnail(one, number) {
  return `/thumbnail?${new URLSearchParams({ set: one.set, name: one.name, number, at: one.picture_at })}`;
}

export const tile = (report, number) => `/tile?${new URLSearchParams({ report, number })}`;

export function trajectoryLink(set, name, step = 1) {
  return (held?.pages?.[`${set}/${name}`] ?? "") + link("t", set, name, step);
}

export function link(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

// Where several runs were exported, each has a folder; `top` is the page above an exported one.
export const runLink = (key) => (held?.folders?.[key] ?? "") + link("run", key);
export const top = held?.top;

export function exportLink(kind, one) {
  return `/${kind}?${new URLSearchParams({ set: one.set, name: one.name })}`;
}

export async function exported(kind, one) {
  const response = await ask(exportLink(kind, one));
  const name = response.headers.get("content-disposition").split('"')[1];
  return { name, address: URL.createObjectURL(await response.blob()) };
}

export async function label(one, verdict, note, seen) {
  const where = `/label?${new URLSearchParams({ set: one.set, name: one.name })}`;
  const replaces = seen ? { verdict: seen.verdict, note: seen.reason } : null;
  await ask(where, { method: "POST", body: JSON.stringify({ verdict, note, replaces }) });
}

export const hasTrajectory = held !== null && "trajectory" in held;
