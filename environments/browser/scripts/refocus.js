// Lets the next key reach the field that was typed into, if it has the focus still; otherwise says what has it.
() => {
  const [field, focused] = [elcano.field, document.hasFocus() ? elcano.focused() : null];
  if (field?.isConnected && focused !== null && elcano.holds(field, focused)) {
    elcano.guard.arm("keys", (found) => found !== null && elcano.holds(field, found), focused);
    return "";
  }
  if (!field?.isConnected) return "the field is gone";
  return focused === null || focused === document.body ? "nothing has the focus" : `${elcano.describe(focused)} has the focus`;
}
