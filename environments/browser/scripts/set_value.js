// Gives the field a value its keyboard cannot give in one way everywhere. Returns whether it was accepted.
//
// The field loses the focus for that, and has it again: a page may have opened the browser's picker beside it, which
// would put back at ENTER what the field held before.
(value) => {
  const element = elcano.field;
  const before = element.value;
  element.blur();
  element.value = value;
  if (element.value !== value && element.type !== "range") {
    element.value = before;
    return false;
  }
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  element.focus();
  return true;
}
