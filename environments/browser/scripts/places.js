// Where the things at some points of the window lie, as a text; null where a field that the wheel changes is in its center.
() => {
  const found = [0.2, 0.5, 0.8].flatMap((across) =>
    [0.2, 0.5, 0.8].map((down) => elcano.topmost(across * innerWidth, down * innerHeight)),
  );
  if (["INPUT", "SELECT", "TEXTAREA"].includes(found[4]?.tagName)) return null;
  const describe = (element) => {
    const { x, y } = element.getBoundingClientRect();
    return `${element.tagName} ${(element.textContent ?? "").slice(0, 40)} ${Math.round(x)} ${Math.round(y)}`;
  };
  return found.map((element) => element && describe(element)).join("\n");
}
