// `this` = a <select>. What its options read that can be chosen.
function () {
  return [...this.options].filter((option) => !option.disabled).map((option) => elcano.words(option.text, 30));
}
