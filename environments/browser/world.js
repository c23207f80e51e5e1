// What our scripts share in the world of a document: `elcano`. `marks` are elements that a script remembered by number.
// Closed shadow roots are not found by scripts: `closed` holds those that were made known (observe.py).
() => {
  const elcano = { marks: [], closed: new WeakMap() };
  elcano.rootOf = (host) => host.shadowRoot ?? elcano.closed.get(host) ?? null;
  // The element around another as it is drawn: a slot, or the host of a shadow root.
  elcano.around = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  elcano.topmost = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; (inner = found && elcano.rootOf(found)?.elementFromPoint(x, y)) && inner !== found; ) found = inner;
    return found;
  };
  elcano.focused = () => {
    let found = document.activeElement;
    for (let inner; (inner = found && elcano.rootOf(found)?.activeElement); ) found = inner;
    return found;
  };
  globalThis.elcano ??= elcano;
  return 0;
}
