// Where the things lie that the window shows, at a grid of points and the first of them all, as a text; null where a field
// that the wheel changes is in its center.
() => {
  if (["INPUT", "SELECT", "TEXTAREA"].includes(elcano.topmost(innerWidth / 2, innerHeight / 2)?.tagName)) return null;
  const atPoints = [0.2, 0.5, 0.8].flatMap((across) =>
    [0.2, 0.5, 0.8].map((down) => elcano.topmost(across * innerWidth, down * innerHeight)),
  );
  const isFilled = (element) => element.childElementCount === 0 && elcano.isSeen(element.getBoundingClientRect());
  const filled = [...document.querySelectorAll("body *")].slice(0, 5000).filter(isFilled).slice(0, 200);
  const describe = (element) => {
    const { x, y } = element.getBoundingClientRect();
    return `${element.tagName} ${(element.textContent ?? "").slice(0, 40)} ${Math.round(x)} ${Math.round(y)}`;
  };
  return [...atPoints, ...filled].map((element) => element && describe(element)).join("\n");
}
