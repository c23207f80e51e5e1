// `this` = the node that text is meant for, after it was pressed, or what has the focus. Says what has the focus in this
// frame, and whether it is what was meant: it, what lies in it or around it, what it labels or controls, or, where no text
// goes into it, the textbox that the press brought. If so, that is remembered as `elcano.field`, its text selected
// (`replaces`), and the guard lets keys reach nothing else.
function (replaces) {
  const chosen = this.nodeType === Node.TEXT_NODE ? this.parentElement : (this.documentElement ?? this);
  elcano.reveal(chosen);
  const host = elcano.whole(chosen);
  const focused = document.hasFocus() ? elcano.focused() : null;
  if (focused === null || focused === document.body) return { way: null, tag: "", type: "", fits: false, is_other: false, name: "" };
  const named = (attribute) => (host.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean);
  const related = ["aria-controls", "aria-owns", "aria-activedescendant", "list"].flatMap(named);
  const isRelated = elcano.closest(focused, (node) => node.id && related.includes(node.id)) !== null;
  const label = elcano.closest(host, (node) => node.tagName === "LABEL");
  const isEditor = focused.isContentEditable && elcano.holds(focused, host);
  const isTwin = !host.isConnected && elcano.isAgain(host, focused);
  const isContained = elcano.holds(host, focused) && elcano.isFieldOf(host, focused);
  const isOwn = isContained || isTwin || isEditor || label?.control === focused || isRelated;
  const takesText = elcano.wayInto(label?.control ?? host) !== null;
  const isBrought = !takesText && elcano.isBrought(host, focused);
  const way = elcano.wayInto(focused);
  const fits = isOwn || isBrought || elcano.fieldUnder(host) === focused;
  if (fits && way !== null) {
    elcano.field = focused;
    if (replaces && focused.isContentEditable) getSelection().selectAllChildren(focused);
    else if (replaces && way !== "value") focused.select();
    elcano.guard.arm("keys", (found) => found !== null && elcano.holds(focused, found), focused);
  }
  return {
    way,
    tag: focused.tagName.toLowerCase(),
    type: focused.tagName === "INPUT" ? focused.type : "",
    fits,
    is_other: focused !== host && label?.control !== focused && !isEditor,
    name: elcano.describe(focused),
  };
}
