// What the textbox that was typed into reads now, on one line, and what the browser says is wrong with it; null for what
// is not to be read aloud. Editors put characters without a width into what they hold.
() => {
  const element = elcano.field;
  if (!element || element.type === "password") return null;
  const text = element.isContentEditable ? element.innerText.replace(/[\u200b\ufeff]/g, "") : (element.value ?? "");
  return { reads: text.trim().replace(/\s+/g, " "), problem: element.validationMessage ?? "" };
}
