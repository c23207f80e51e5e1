// `this` = an option of a list. What is chosen in the list now.
function () {
  return [...this.closest("select").selectedOptions].map((option) => elcano.words(option.text));
}
