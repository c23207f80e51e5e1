// `this` = the element to scroll in, or undefined for the window. Moves it two thirds of its height, at once.
// Returns whether anything moved.
function (direction) {
  const scrolls = (element) =>
    element.scrollHeight > element.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowY);
  let area = this instanceof Node ? (this.nodeType === Node.TEXT_NODE ? this.parentElement : this) : null;
  while (area && !scrolls(area)) area = area.parentElement;
  area ??= document.scrollingElement;
  const height = area === document.scrollingElement ? innerHeight : area.clientHeight;
  const before = area.scrollTop;
  area.scrollBy({ top: (direction === "up" ? -1 : 1) * Math.floor((height * 2) / 3), behavior: "instant" });
  return area.scrollTop !== before;
}
