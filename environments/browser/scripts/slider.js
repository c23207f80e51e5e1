// `this` = a slider made of elements. Focuses it and returns what it says of itself and where its rail lies in its frame.
function () {
  const element = (this.nodeType === Node.TEXT_NODE ? this.parentElement : this).closest("[role=slider], [role=spinbutton]");
  element.focus();
  const number = (name, otherwise) => parseFloat(element.getAttribute(name) ?? otherwise);
  const rail = (element.parentElement ?? element).getBoundingClientRect();
  return {
    now: number("aria-valuenow", NaN),
    min: number("aria-valuemin", 0),
    max: number("aria-valuemax", 100),
    rail: [rail.left, rail.top, rail.width, rail.height],
  };
}
