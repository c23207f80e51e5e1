// Gives the field a value its keyboard cannot give in one way everywhere. Returns whether it was accepted.
(value) => {
  const element = elcano.field;
  const before = element.value;
  element.value = value;
  if (element.value !== value && element.type !== "range") {
    element.value = before;
    return false;
  }
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}
