// How much this document holds, which decides how it is read: [elements, characters of its longest text, characters of
// addresses that hold data], its size, how large its pixels are, and its address: [..., width, height, devicePixelRatio, href].
() => {
  let elements = 0;
  let longest = 0;
  let data = 0;
  const withData = "[src^='data:'], [href^='data:'], [srcset*='data:'], [style*='data:'], [srcdoc]";
  const attributes = ["src", "href", "srcset", "style", "srcdoc"];
  const look = (root) => {
    const all = root.querySelectorAll("*");
    elements += all.length;
    if ((root.textContent ?? root.documentElement?.textContent ?? "").length > 50_000) {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) longest = Math.max(longest, texts.currentNode.length);
    }
    for (const field of root.querySelectorAll("textarea, input")) longest = Math.max(longest, field.value.length);
    for (const element of root.querySelectorAll(withData))
      data += attributes.reduce((sum, name) => sum + (element.getAttribute(name)?.length ?? 0), 0);
    for (const element of all) {
      const inner = elcano.rootOf(element);
      if (inner) look(inner);
    }
  };
  look(document);
  return [elements, longest, data, innerWidth, innerHeight, devicePixelRatio, location.href];
}
