// What our scripts share in the world of a document: `elcano`. `marks` are elements that a script remembered by number.
// Closed shadow roots are not found by scripts: `closed` holds those that were made known (observe.py, aim.js).
() => {
  const elcano = { marks: [], closed: new WeakMap() };
  elcano.rootOf = (host) => host.shadowRoot ?? elcano.closed.get(host) ?? null;

  // Those that the browser makes of its own are inner parts of textboxes and players, never of these elements.
  const hosts = new Set(
    "ARTICLE ASIDE BLOCKQUOTE BODY DIV FOOTER H1 H2 H3 H4 H5 H6 HEADER MAIN NAV P SECTION SPAN".split(" "),
  );
  elcano.mayHost = (element) => hosts.has(element.tagName) || element.tagName.includes("-");
  elcano.isPart = (root) => !elcano.mayHost(root.host);

  elcano.reveal = (element) => {
    for (let root = element.getRootNode(); root instanceof ShadowRoot; root = root.host.getRootNode())
      if (!elcano.isPart(root) && root.mode === "closed") elcano.closed.set(root.host, root); // to read it of a part ends Chromium
  };

  // The inner parts of a textbox, and of what hides them, stand for the whole.
  elcano.whole = (element) => {
    let whole = element;
    for (let root = element.getRootNode(); root instanceof ShadowRoot; root = root.host.getRootNode())
      if (elcano.isPart(root)) whole = root.host;
    return whole;
  };

  // The element around another as it is drawn: a slot, or the host of a shadow root.
  const slotOf = (element) => {
    if (element.assignedSlot) return element.assignedSlot;
    const root = element.parentElement && elcano.closed.get(element.parentElement);
    const slots = root ? [...root.querySelectorAll("slot")] : [];
    return slots.find((slot) => slot.assignedNodes().includes(element)) ?? null;
  };
  elcano.around = (element) => slotOf(element) ?? element.parentElement ?? element.getRootNode().host ?? null;
  elcano.closest = (element, counts) => {
    for (let node = element; node; node = elcano.around(node)) if (counts(node)) return node;
    return null;
  };
  elcano.holds = (outer, inner) => elcano.closest(inner, (node) => node === outer) !== null;

  elcano.topmost = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; (inner = found && elcano.rootOf(found)?.elementFromPoint(x, y)) && inner !== found; ) found = inner;
    return found;
  };
  elcano.focused = () => {
    let found = document.activeElement;
    for (let inner; (inner = found && elcano.rootOf(found)?.activeElement); ) found = inner;
    return found;
  };

  const controls = "a[href], area, button, input, select, textarea, label, option, summary, [onclick], [contenteditable]";
  const roles = new Set(
    "button link tab menuitem menuitemcheckbox menuitemradio checkbox radio switch option slider textbox combobox treeitem".split(" "),
  );
  elcano.usable = [controls, ...[...roles].map((role) => `[role=${role}]`)].join(", ");
  elcano.isUsable = (element) => element.matches(controls) || roles.has(element.getAttribute("role"));
  elcano.controlOf = (element) => elcano.closest(element, (node) => elcano.isUsable(node) && node.tagName !== "LABEL");

  // A page may draw itself anew at any time. Where an element that is gone stands now; of several alike the one with the
  // same around it. Null where that is not certain.
  const told = (one) => [one.id, one.name, one.href, one.ariaLabel, one.placeholder, one.textContent].map((text) => text ?? "");
  const looks = (one) => [one.tagName, one.type, ...told(one)].join("\n");
  elcano.findAgain = (gone) => {
    if (told(gone).every((text) => String(text).trim() === "")) return null;
    let found = [...document.getElementsByTagName(gone.tagName)].filter((node) => looks(node) === looks(gone));
    if (found.length > 1 && found.length < 200) found = found.filter((one) => elcano.standsLike(gone, one));
    let around = found.map((node) => node.parentElement);
    for (let was = gone.parentElement; found.length > 1 && was !== null; was = was.parentElement) {
      const isSame = around.map((node) => node !== null && looks(node) === looks(was));
      found = found.filter((_, index) => isSame[index]);
      around = around.filter((_, index) => isSame[index]).map((node) => node.parentElement);
    }
    return found.length === 1 && elcano.standsLike(gone, found[0]) ? found[0] : null;
  };

  elcano.isAgain = (gone, found) => {
    const again = elcano.findAgain(gone);
    return again !== null && found !== null && elcano.holds(again, found);
  };

  // How text gets into an element: "line", "lines", "value" (a date, a color, a slider: set by value), or null.
  const lines = new Set(["text", "search", "password", "email", "tel", "url", "number"]);
  const values = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
  elcano.wayInto = (element) => {
    if (!element || element.readOnly || element.disabled) return null;
    if (element.isContentEditable || element.tagName === "TEXTAREA") return "lines";
    if (element.tagName !== "INPUT") return null;
    return lines.has(element.type) ? "line" : values.has(element.type) ? "value" : null;
  };

  // What holds a control that is disabled, as a whole set of fields may be; a link among these is not.
  elcano.isDisabled = (element) => {
    const used = element.closest("a[href], button, input, select, textarea, option, label");
    return (used?.tagName === "LABEL" ? used.control : used)?.matches(":disabled") ?? false;
  };

  // What takes no text, and brings none: it sends, chooses or leads away. Other buttons may open a textbox.
  const sends = "button[type=submit], button[type=reset], input:is([type=submit], [type=reset], [type=image])";
  const chooses = "input:is([type=checkbox], [type=radio]), option, summary, a[href], area[href]";
  const choosing = "checkbox radio switch option tab menuitem menuitemcheckbox menuitemradio link treeitem".split(" ");
  elcano.takesNone = (control) => {
    if (!control || control.isContentEditable || control.hasAttribute("aria-haspopup") || control.hasAttribute("aria-controls")) return false;
    const isSubmit = control.tagName === "BUTTON" && control.type === "submit" && control.form !== null;
    return isSubmit || control.matches(`${sends}, ${chooses}`) || choosing.includes(control.getAttribute("role"));
  };

  // A press on what takes no text may bring a textbox, or give the focus to the one beside it.
  const fields = "input, textarea, [contenteditable]";
  const fieldsIn = (element) => [...element.querySelectorAll(fields)];
  // The one textbox in an element that is called one, as a box around it may be.
  elcano.fieldIn = (host) => {
    if (!["combobox", "searchbox", "textbox"].includes(host.getAttribute("role")) || elcano.wayInto(host)) return null;
    const shown = fieldsIn(host).filter((one) => elcano.wayInto(one) && one.offsetWidth >= 20 && one.offsetHeight >= 10);
    return shown.length === 1 ? shown[0] : null;
  };
  // The textbox under a text that lets the mouse through, as what stands in an empty one does.
  elcano.fieldUnder = (host) => {
    const control = elcano.controlOf(host);
    if (getComputedStyle(host).pointerEvents !== "none" || (control && fieldsIn(control).length === 0)) return null;
    const around = elcano.closest(host, (node) => node.querySelector(fields) !== null);
    const [field, ...more] = around ? fieldsIn(around) : [];
    if (!field || more.length > 0 || elcano.wayInto(field) === null) return null;
    const [own, under] = [host.getBoundingClientRect(), field.getBoundingClientRect()];
    const [x, y] = [own.left + own.width / 2, own.top + own.height / 2];
    return x > under.left && x < under.right && y > under.top && y < under.bottom ? field : null;
  };
  elcano.noteFields = () => {
    const shown = [...document.querySelectorAll(fields)].slice(0, 500).filter((one) => one.getClientRects().length > 0);
    elcano.before = { focused: elcano.focused(), shown: new Set(shown) };
  };
  // Of something that holds several textboxes it is the one that the press gave the focus to.
  elcano.isFieldOf = (host, focused) =>
    host === focused ||
    (host !== document.body && host !== document.documentElement &&
      (host.querySelectorAll(fields).length < 2 || focused !== elcano.before?.focused));
  elcano.isBrought = (host, focused) => {
    if (focused === elcano.before?.focused) return false;
    if (!elcano.before?.shown.has(focused)) return true;
    const around = elcano.closest(host, (node) => node.querySelector(fields) !== null);
    return around !== null && around !== document.body && around !== document.documentElement &&
      around.querySelectorAll(fields).length === 1 && elcano.holds(around, focused);
  };

  elcano.words = (text, most = 40) => (text ?? "").trim().replace(/\s+/g, " ").slice(0, most);
  elcano.nameOf = (element) => {
    const names = [element.getAttribute("aria-label"), element.labels?.[0]?.innerText, element.placeholder, element.alt];
    const isMenu = element.tagName === "SELECT" && !element.multiple && element.size <= 1;
    if (element.type !== "password") names.push(isMenu ? "" : (element.innerText ?? element.textContent), element.value);
    return names.find((name) => typeof name === "string" && name.trim()) ?? "";
  };
  // For sentences that an agent reads: `<button> "Delete all"`.
  elcano.describe = (element) => {
    if (!(element instanceof Element)) return "the page";
    const shown = elcano.closest(element, elcano.isUsable) ?? element;
    const name = elcano.words(elcano.nameOf(shown));
    return `<${shown.tagName.toLowerCase()}>${name && ` "${name}"`}`;
  };
  globalThis.elcano ??= elcano;
  return 0;
}
