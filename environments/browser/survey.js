// How much this document holds, which decides how it is read: [elements, characters of its longest text, characters of
// addresses that hold data], its size, how large its pixels are, and its address: [..., width, height, devicePixelRatio, href]; and what is seen where
// something else has its box (stand_ins.js): {box, role, name, checked, disabled} each, role null of areas. These are
// remembered as `elcano.standIns`, each element followed by its label, or by itself.
(mostStandIns) => {
  let elements = 0;
  let longest = 0;
  let data = 0;
  const standIns = [];
  elcano.standIns = [];
  const remember = (element, label, { x, y, width, height }, role, name) => {
    elcano.standIns.push(element, label);
    standIns.push({ box: [x, y, width, height], role, name, checked: !!element.checked, disabled: !!element.disabled });
  };
  const withData = "[src^='data:'], [href^='data:'], [srcset*='data:'], [style*='data:'], [srcdoc]";
  const attributes = ["src", "href", "srcset", "style", "srcdoc"];
  const look = (root) => {
    const all = root.querySelectorAll("*");
    elements += all.length;
    if ((root.textContent ?? root.documentElement?.textContent ?? "").length > 50_000) {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) longest = Math.max(longest, texts.currentNode.length);
    }
    for (const field of root.querySelectorAll("textarea, input")) {
      longest = Math.max(longest, field.value.length);
      const shown = standIns.length < mostStandIns ? elcano.labelOf(field) : null;
      if (shown === null) continue;
      const file = field.type === "file" ? `: ${field.files[0]?.name ?? "No file chosen"}` : "";
      const name = `${field.ariaLabel || elcano.words(shown.label.innerText, 1000)}${file}`;
      remember(field, shown.label, shown.box, field.type === "file" ? "button" : field.type, name);
    }
    for (const area of root.querySelectorAll("area[href], area[onclick], area[tabindex]")) {
      const box = standIns.length < mostStandIns ? elcano.shapeOf(area) : null;
      if (box !== null) remember(area, area, box, null, "");
    }
    for (const element of root.querySelectorAll(withData))
      data += attributes.reduce((sum, name) => sum + (element.getAttribute(name)?.length ?? 0), 0);
    for (const element of all) {
      const inner = elcano.rootOf(element);
      if (inner) look(inner);
    }
  };
  look(document);
  return [elements, longest, data, innerWidth, innerHeight, devicePixelRatio, location.href, standIns];
}
