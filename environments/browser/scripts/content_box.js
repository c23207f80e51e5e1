// `this` = an <iframe>. Returns [x, y, width, height] of what it shows, in the viewport of its document, and how large a
// pixel of its own is drawn there, across and down.
function () {
  const box = this.getBoundingClientRect();
  const style = getComputedStyle(this);
  const side = (name) => parseFloat(style[`padding${name}`]) || 0;
  const zoom = this.currentCSSZoom || 1; // offsets are whole numbers: less than a pixel is no transform
  const drawn = (size, own) => (own && Math.abs(size / zoom - own) >= 1 ? size / own : zoom);
  const [across, down] = [drawn(box.width, this.offsetWidth), drawn(box.height, this.offsetHeight)];
  return [
    box.x + (this.clientLeft + side("Left")) * across,
    box.y + (this.clientTop + side("Top")) * down,
    (this.clientWidth - side("Left") - side("Right")) * across,
    (this.clientHeight - side("Top") - side("Bottom")) * down,
    across,
    down,
  ];
}
