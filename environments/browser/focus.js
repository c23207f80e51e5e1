// Selects what the focused element holds, so that typing replaces it. Returns how to type into it:
// "line", "lines", "value" (a date, a colour, a slider: set by value), or null when text cannot go there.
() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  if (element === null || element.readOnly || element.disabled) return null;
  if (element.isContentEditable) {
    getSelection().selectAllChildren(element);
    return "lines";
  }
  if (element.tagName === "TEXTAREA") return element.select(), "lines";
  if (element.tagName !== "INPUT") return null;
  if (["text", "search", "password", "email", "tel", "url", "number"].includes(element.type)) return element.select(), "line";
  return ["date", "time", "month", "week", "datetime-local", "color", "range"].includes(element.type) ? "value" : null;
}
