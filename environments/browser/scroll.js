// `this` = the element to scroll in, or undefined for the window. Moves it two thirds of its height, at once.
// Returns whether anything moved; null when neither the element nor its frame has anything to scroll.
function (direction) {
  const scrolls = (element) =>
    element.scrollHeight > element.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowY);
  const parent = (element) => element.parentElement ?? element.getRootNode().host ?? null;
  let area = this instanceof Element ? this : this instanceof Text ? this.parentElement : null;
  while (area && !scrolls(area)) area = parent(area);
  area ??= document.scrollingElement;
  if (area === null || area.scrollHeight <= area.clientHeight) return null;
  const height = area === document.scrollingElement ? innerHeight : area.clientHeight;
  const before = area.scrollTop;
  area.scrollBy({ top: (direction === "up" ? -1 : 1) * Math.floor((height * 2) / 3), behavior: "instant" });
  return area.scrollTop !== before;
}
