// Proves each press and key of ours at the moment it comes, before the page hears of it. What would reach another element
// than the one chosen is swallowed: the page sees nothing of it. `arm` says what the next press or keys may reach, in this
// frame; `take` what came of them, and lets everything pass again.
() => {
  if (elcano.guard) return 0;
  const PRESSES = "pointerdown mousedown pointerup mouseup click auxclick dblclick contextmenu dragstart".split(" ");
  const KEYS = "keydown keypress keyup beforeinput".split(" ");
  let ticket = null;

  const swallow = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };
  const innermost = (event) => {
    const first = event.composedPath()[0];
    return elcano.closed.has(first) ? elcano.topmost(event.clientX, event.clientY) : first;
  };
  const onPress = (event) => {
    if (ticket?.kind !== "press" || !event.isTrusted) return;
    if (event.type === "pointerdown" && ticket.blocked === null) {
      const hit = innermost(event);
      if (ticket.accepts(hit)) ticket.reached = true;
      else ticket.blocked = hit instanceof Element ? elcano.describe(hit) : "the page";
    }
    if (ticket.blocked !== null) swallow(event);
  };

  // A field for one digit of a code hands the focus on when it is full.
  const isFull = (field) =>
    field?.tagName === "INPUT" &&
    ((field.maxLength > 0 && field.value.length >= field.maxLength) || field.autocomplete === "one-time-code");
  const onKey = (event) => {
    if (ticket?.kind !== "keys" || !event.isTrusted) return;
    if (event.type === "keydown" && ticket.blocked === null) {
      const at = elcano.focused();
      if (at !== ticket.at && !(ticket.accepts(at) || (at?.tagName === "INPUT" && isFull(ticket.at))))
        ticket.blocked = at === null || at === document.body ? "nothing" : elcano.describe(at);
      else [ticket.at, ticket.reached] = [at, true];
    }
    if (ticket.blocked !== null) swallow(event);
  };

  for (const type of PRESSES) addEventListener(type, onPress, { capture: true, passive: false });
  for (const type of KEYS) addEventListener(type, onKey, { capture: true, passive: false });
  elcano.guard = {
    arm: (kind, accepts, at = null) => (ticket = { kind, accepts, at, reached: false, blocked: null }),
    take: () => {
      const { reached = false, blocked = null } = ticket ?? {};
      ticket = null;
      return { reached, blocked };
    },
  };
  return 0;
}
