// Proves each press and key of ours at the moment it comes, before the page hears of it. What would reach another element
// than the one chosen is swallowed: the page sees nothing of it. `arm` says what the next press or keys may reach, in this
// frame; `take` what came of them, and lets everything pass again.
() => {
  if (elcano.guard) return 0;
  const PRESSES = "pointerdown mousedown pointerup mouseup click auxclick dblclick contextmenu dragstart drop".split(" ");
  const KEYS = "keydown keypress keyup beforeinput".split(" ");
  const AROUND = new Set(["click", "auxclick", "dblclick", "contextmenu", "dragstart"]);
  let ticket = null;

  const swallow = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };
  const innermost = (event) => {
    const first = event.composedPath()[0];
    return elcano.closed.has(first) ? elcano.topmost(event.clientX, event.clientY) : first;
  };
  // A page may move things while they are pressed: what follows must reach the same, or for a click what lies around it.
  const isRight = (hit, type) =>
    (type === "drop" && ticket.drops !== null ? ticket.drops(hit) : ticket.accepts(hit)) ||
    (AROUND.has(type) && ticket.around.has(hit));
  const isOver = () => ticket !== null && performance.now() > ticket.until && (ticket = null) === null;
  const onPress = (event) => {
    if (isOver() || ticket?.kind !== "press" || !event.isTrusted) return;
    if (ticket.blocked === null && !event.type.endsWith("up")) {
      const hit = innermost(event);
      if (isRight(hit, event.type)) ticket.reached = true;
      else if (event.type === "pointerdown" || !ticket.reached) ticket.blocked = elcano.describe(hit);
      else {
        ticket.strayed = elcano.describe(hit);
        swallow(event);
      }
    }
    if (ticket.blocked !== null) swallow(event);
  };

  // A field for one digit of a code hands the focus on when it is full.
  const isFull = (field) =>
    field?.tagName === "INPUT" &&
    ((field.maxLength > 0 && field.value.length >= field.maxLength) || field.autocomplete === "one-time-code");
  const onKey = (event) => {
    if (isOver() || ticket?.kind !== "keys" || !event.isTrusted) return;
    if (event.type !== "keyup" && ticket.blocked === null) {
      const at = elcano.focused();
      if (at !== ticket.at && !(ticket.accepts(at) || (at?.tagName === "INPUT" && isFull(ticket.at))))
        ticket.blocked = at === null || at === document.body ? "nothing" : elcano.describe(at);
      else [ticket.at, ticket.reached] = [at, true];
    }
    if (ticket.blocked !== null) swallow(event);
  };

  // The browser's bubble at a field draws the whole page, frame after frame, until the focus leaves the field. It leaves
  // for a moment that the page hears nothing of.
  const FOCUS = "blur focusout focus focusin change".split(" ");
  const hideBubble = (field) => {
    if (elcano.focused() !== field) return; // its form was checked by a script, which shows no bubble
    for (const type of FOCUS) addEventListener(type, swallow, true);
    field.blur();
    field.focus({ preventScroll: true });
    for (const type of FOCUS) removeEventListener(type, swallow, true);
  };

  // What the browser says of a field for which it does not send the form.
  const onInvalid = (event) => {
    if (ticket === null || !event.isTrusted || !event.target.willValidate) return;
    ticket.refused ??= `${elcano.describe(event.target)}: ${elcano.words(event.target.validationMessage, 200)}`;
    setTimeout(hideBubble, 0, event.composedPath()[0]);
  };

  for (const type of PRESSES) addEventListener(type, onPress, { capture: true, passive: false });
  for (const type of KEYS) addEventListener(type, onKey, { capture: true, passive: false });
  addEventListener("invalid", onInvalid, true);
  elcano.guard = {
    // For a press the element it is meant for, for keys the field that has the focus.
    arm: (kind, accepts, host = null, untilMs = Infinity) => {
      const around = new Set();
      // A control around another one is no place for a click that began on the inner one.
      const isOthers = (node) => ![null, control].includes(elcano.controlOf(node));
      const control = host && elcano.controlOf(host);
      for (let node = host && elcano.around(host); node && !isOthers(node); node = elcano.around(node)) around.add(node);
      ticket = {
        ...{ kind, accepts, around, at: host, drops: null, until: performance.now() + untilMs },
        ...{ reached: false, blocked: null, strayed: null, refused: null },
      };
    },
    // What is dragged may be dropped there.
    letDrop: (accepts) => {
      ticket.drops = accepts;
      ticket.reached = true;
    },
    take: () => {
      const { reached = false, blocked = null, strayed = null, refused = null } = ticket ?? {};
      ticket = null;
      return { reached, blocked, strayed, refused };
    },
  };
  return 0;
}
