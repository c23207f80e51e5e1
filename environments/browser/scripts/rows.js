// What stands beside controls that read alike, "Delete" in each row of a list: it tells which is which. A list may use its
// rows again, so that the same control belongs to another thing by the time it is pressed. Added to `elcano` (world.js).
() => {
  const MOST_TEXTS = 40;
  const records = new WeakMap(); // control -> { group, own }
  const label = (one) =>
    [one.tagName, one.type, one.ariaLabel, one.placeholder, one.tagName === "SELECT" ? "" : one.textContent.slice(0, 200)].join("\n");
  const textsIn = (node, except, into) => {
    if (into.length >= MOST_TEXTS || node === except) return into;
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.data.trim();
      if (text && !["SCRIPT", "STYLE"].includes(node.parentNode?.tagName)) into.push(text.slice(0, 200));
      return into;
    }
    for (const child of elcano.rootOf(node)?.childNodes ?? []) textsIn(child, except, into);
    if (node.nodeType === Node.ELEMENT_NODE && node.tagName === "IMG" && node.alt) into.push(node.alt);
    if (node.tagName !== "SELECT") for (const child of node.childNodes) textsIn(child, except, into);
    return into;
  };
  // How many of a group each element holds, 0 for none; above one that holds several it is not counted on.
  const countIn = (group) => {
    const counts = new Map();
    for (const one of group)
      for (let node = one, count = 0; node && count < 2; node = elcano.around(node)) {
        count = (counts.get(node) ?? 0) + 1;
        counts.set(node, count);
      }
    return counts;
  };
  const textsBeside = (one, counts) => {
    let row = one;
    for (let up = elcano.around(row); up && counts.get(up) === 1; up = elcano.around(row)) row = up;
    const texts = textsIn(row, one, []);
    if (texts.length > 0) return texts;
    for (const side of ["previousSibling", "nextSibling"])
      for (let node = row[side]; node && !counts.has(node) && texts.length < MOST_TEXTS; node = node[side]) textsIn(node, one, texts);
    return texts;
  };

  // These controls are observed now.
  elcano.noteRows = (controls) => {
    const groups = new Map();
    for (const one of controls) {
      const key = label(one);
      if (groups.has(key)) groups.get(key).push(one);
      else groups.set(key, [one]);
    }
    for (const group of groups.values()) {
      if (group.length < 2) {
        records.delete(group[0]);
        continue;
      }
      const counts = countIn(group);
      const found = group.map((one) => [...new Set(textsBeside(one, counts))]);
      const uses = new Map();
      for (const text of found.flat()) uses.set(text, (uses.get(text) ?? 0) + 1);
      group.forEach((one, index) => records.set(one, { group, own: found[index].filter((text) => uses.get(text) === 1) }));
    }
  };
  // What was beside a control, and beside no other that reads like it.
  elcano.rowOf = (control) => records.get(control)?.own.join(" ") ?? "";

  const withoutDigits = (text) => text.replace(/\d+/g, "0");
  // Whether what told a control from others stands beside it; a clock may have gone on.
  const isBeside = (own, now) => {
    const lost = own.filter((text) => !now.includes(text));
    const goesOn = (text) => now.some((other) => withoutDigits(other) === withoutDigits(text));
    return lost.length === 0 || (lost.length < own.length && lost.every(goesOn));
  };
  // What stands beside it now, where what told it from others does not. Null if all is as it was.
  elcano.otherRow = (control) => {
    const record = records.get(control);
    if (!record || record.own.length === 0) return null;
    const now = textsBeside(control, countIn(record.group.filter((one) => one.isConnected)));
    return isBeside(record.own, now) ? null : now.join(" ");
  };
  // Whether an element stands beside what told one that is gone from others; it is known by that from now on.
  elcano.standsLike = (gone, found) => {
    const [was, control] = [gone, found].map((one) => elcano.controlOf(one) ?? one);
    const { own = [] } = records.get(was) ?? {};
    if (own.length === 0) return true;
    const group = [...document.getElementsByTagName(control.tagName)].filter((one) => label(one) === label(control));
    if (!isBeside(own, textsBeside(control, countIn(group)))) return false;
    records.set(control, { group, own });
    return true;
  };
  return 0;
}
