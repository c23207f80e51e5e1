// `this` = a <select> or one of its options. Chooses the option that reads `text` (null: `this` itself), as a person does
// with the menu: the same events fire. Returns what is chosen then, whether the page left the choice as it was made, and why
// nothing was chosen: "none" or "several" read so, it is "disabled".
function (text) {
  const select = this.closest("select");
  const read = (value) => value.trim().replace(/\s+/g, " ").toLowerCase();
  const options = [...select.options];
  const exact = options.filter((option) => (text === null ? option === this : read(option.text) === read(text)));
  const close = text ? options.filter((option) => read(option.text).includes(read(text))) : [];
  const found = exact.length > 0 ? exact : close;
  const free = found.filter((option) => !option.matches(":disabled"));
  const refused = (problem) => ({ problem, chosen: [], stays: true });
  if (select.matches(":disabled") || (found.length > 0 && free.length === 0)) return refused("disabled");
  if (found.length === 0) return refused("none");
  if (found === close && free.length > 1) return refused("several");
  const [chosen] = free;
  select.focus();
  let wanted = true;
  if (!chosen.selected || select.multiple) {
    chosen.selected = wanted = !(select.multiple && text === null && chosen.selected);
    select.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
  const names = [...select.selectedOptions].map((option) => elcano.words(option.text));
  return { problem: "", chosen: names, stays: chosen.selected === wanted };
}
