// `this` = a <select> or one of its options. Chooses the option that reads `text` (null: `this` itself), as a person does
// with the menu: the same events fire. Returns what is chosen then, or null where there was nothing to choose.
function (text) {
  const select = this.closest("select");
  const read = (value) => value.trim().replace(/\s+/g, " ").toLowerCase();
  const options = [...select.options].filter((option) => !option.disabled && !option.closest("optgroup:disabled"));
  const exact = options.filter((option) => (text === null ? option === this : read(option.text) === read(text)));
  const close = text ? options.filter((option) => read(option.text).includes(read(text))) : [];
  const chosen = exact[0] ?? (close.length === 1 ? close[0] : undefined);
  if (select.disabled || chosen === undefined) return null;
  select.focus();
  if (!chosen.selected || select.multiple) {
    chosen.selected = !(select.multiple && text === null && chosen.selected);
    select.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
  return [...select.selectedOptions].map((option) => elcano.words(option.text));
}
