// What lies at a point of this frame, and remembers it as `elcano.marks[-2]`. `inner`: it is a frame, asked next.
// `hides`: there may be a closed shadow root in it, which scripts do not find.
// `usable`: it is a link, a control, or shows the hand. `choices`: those of a menu that opens outside of the page.
// The guard then (`arms`) lets a press reach what was found, and nothing else.
(x, y, arms) => {
  const found = elcano.topmost(x, y);
  if (found === null) return null;
  const element = elcano.closest(found, elcano.isUsable) ?? found;
  const hand = getComputedStyle(found).cursor === "pointer";
  const target = element.tagName === "LABEL" && element.control ? element.control : element;
  elcano.marks[-2] = target;
  const isMenu = target.tagName === "SELECT" && !target.multiple && target.size <= 1;
  const inner = ["IFRAME", "FRAME"].includes(found.tagName);
  const used = (hit) => elcano.closest(hit, elcano.isUsable) ?? element;
  const isIn = (outer, hit) => elcano.holds(outer, hit) && used(hit) === outer;
  const isFound = (hit) => hit === found || (elcano.isUsable(element) && (isIn(element, hit) || isIn(target, hit)));
  const shows = element.textContent;
  const isSame = () => shows.length > 500 || element.textContent === shows;
  elcano.noteFields();
  if (arms) elcano.guard.arm("press", (hit) => hit instanceof Element && (found.isConnected ? isFound(hit) && isSame() : elcano.isAgain(element, hit)), element);
  return {
    tag: target.tagName.toLowerCase(),
    type: target.tagName === "INPUT" ? target.type : "",
    label: elcano.words(elcano.nameOf(target), 30),
    inner,
    takes_text: elcano.wayInto(target) !== null,
    hides: elcano.mayHost(found) && elcano.rootOf(found) === null && (found.tagName.includes("-") || !elcano.isUsable(element)),
    usable: elcano.isUsable(element) || hand,
    disabled: elcano.isDisabled(target),
    link: elcano.closest(found, (node) => node.matches("a[href], area[href]"))?.href ?? "",
    listed: target.tagName === "OPTION" && target.closest("select")?.multiple === true,
    choices: isMenu ? [...target.options].filter((option) => !option.disabled).map((option) => elcano.words(option.text, 30)) : null,
  };
}
