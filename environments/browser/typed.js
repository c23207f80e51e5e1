// What the focused textbox reads now, on one line; null for what is not to be read aloud.
() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  if (!["INPUT", "TEXTAREA"].includes(element?.tagName) || element.type === "password") return null;
  return element.value.trim().replace(/\s+/g, " ");
}
