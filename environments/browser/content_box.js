// `this` = an <iframe>. Returns [x, y, width, height] of what it shows, in the viewport of its document.
function () {
  const box = this.getBoundingClientRect();
  const style = getComputedStyle(this);
  const side = (name) => parseFloat(style[`padding${name}`]) || 0;
  return [
    box.x + this.clientLeft + side("Left"),
    box.y + this.clientTop + side("Top"),
    this.clientWidth - side("Left") - side("Right"),
    this.clientHeight - side("Top") - side("Bottom"),
  ];
}
