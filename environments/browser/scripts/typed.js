// What the textbox that was typed into reads now, on one line, and what the browser says is wrong with it; null for what
// is not to be read aloud.
() => {
  const element = elcano.field;
  if (!["INPUT", "TEXTAREA"].includes(element?.tagName) || element.type === "password") return null;
  return { reads: element.value.trim().replace(/\s+/g, " "), problem: element.validationMessage ?? "" };
}
