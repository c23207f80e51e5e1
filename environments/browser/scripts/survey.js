// How much this document holds, which decides how it is read: [elements, characters of its longest text that is shown,
// characters of addresses that hold data and of long texts that are not shown], its size, how large its pixels are, and
// its address: [..., width, height, devicePixelRatio, href]; and what is seen where something else has its box
// (stand_ins.js): {box, role, name, checked, disabled} each, role null where the tree knows it.
// These are remembered as `elcano.standIns`, each element followed by its label, its picture, or itself. `region` is the
// part that the documents around show, null where that is the whole viewport.
(mostStandIns, region) => {
  elcano.region = region;
  let elements = 0;
  let longest = 0;
  let data = 0;
  const standIns = [];
  const budget = { left: 600, cells: 1000 }; // tries to find what is partly covered
  const controls = []; // that are in view
  elcano.standIns = [];
  const remember = (element, label, { x, y, width, height }, role, name) => {
    elcano.standIns.push(element, label);
    standIns.push({ box: [x, y, width, height], role, name, checked: !!element.checked, disabled: !!element.disabled });
  };
  const measure = (element, length) => {
    if (length <= longest) return;
    if (element?.checkVisibility() === false) data += length; // styles and scripts, which no tree holds
    else longest = length;
  };
  const withData = "[src^='data:'], [href^='data:'], [srcset*='data:'], [style*='data:'], [srcdoc]";
  const attributes = ["src", "href", "srcset", "style", "srcdoc"];
  const look = (root) => {
    const all = root.querySelectorAll("*");
    elements += all.length;
    if ((root.textContent ?? root.documentElement?.textContent ?? "").length > 50_000) {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) measure(texts.currentNode.parentElement, texts.currentNode.length);
    }
    for (const field of root.querySelectorAll("textarea, input")) measure(field, field.value.length);
    for (const element of root.querySelectorAll(elcano.usable)) {
      if (element.tagName === "LABEL" || element.tagName === "OPTION") continue;
      const own = element.getBoundingClientRect();
      if (!elcano.isSeen(own) && !elcano.isElsewhere(element)) continue;
      if (elcano.isSeen(own)) controls.push(element);
      if (standIns.length >= mostStandIns) continue;
      const shown = elcano.labelOf(element, budget);
      const box = element.tagName === "AREA" ? elcano.shapeOf(element) : elcano.partOf(element, budget);
      if (shown) {
        const file = element.type === "file" ? `: ${element.files[0]?.name ?? "No file chosen"}` : "";
        const name = `${element.ariaLabel || elcano.words(shown.label.innerText, 1000)}${file}`;
        remember(element, shown.label, shown.box, element.type === "file" ? "button" : element.type, name);
      } else if (box && element.tagName === "AREA") {
        remember(element, elcano.pictureOf(element), box, "link", element.ariaLabel || element.alt || element.title);
      } else if (box) remember(element, element, box, null, "");
    }
    for (const element of root.querySelectorAll(withData))
      data += attributes.reduce((sum, name) => sum + (element.getAttribute(name)?.length ?? 0), 0);
    for (const element of all) {
      const inner = elcano.rootOf(element);
      if (inner) look(inner);
    }
  };
  look(document);
  if (region === null) elcano.noteRows(controls); // what is cut off has a number, too
  elcano.region = null;
  return [elements, longest, data, innerWidth, innerHeight, devicePixelRatio, location.href, standIns];
}
