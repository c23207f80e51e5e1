// How far everything around `this` is scrolled, as a text. With the text of `before`, waits until nothing moves any more.
async function (before) {
  const read = () => {
    const places = [scrollX, scrollY];
    for (let node = this; node; node = node.parentElement ?? node.getRootNode().host ?? null)
      places.push(node.scrollLeft, node.scrollTop);
    return places.map(Math.round).join();
  };
  let last = read();
  for (let turn = 0; before !== null && turn < 20; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = read();
    if (turn > 1 && now === last) break;
    last = now;
  }
  return last;
}
