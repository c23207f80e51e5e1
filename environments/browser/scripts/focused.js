// What has the focus in this frame, and remembers it as `elcano.marks[-3]`; null where nothing has. `inner`: it is a frame,
// asked next. `hides`: there may be a closed shadow root in it.
() => {
  const element = elcano.focused();
  if (element === null || element === document.body || !document.hasFocus()) return null;
  elcano.marks[-3] = element;
  return {
    tag: element.tagName.toLowerCase(),
    type: element.tagName === "INPUT" ? element.type : "",
    inner: ["IFRAME", "FRAME"].includes(element.tagName),
    hides: elcano.mayHost(element) && elcano.rootOf(element) === null && !element.isContentEditable,
  };
}
