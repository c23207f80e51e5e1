// Runs before a page's scripts: elements that listen to the mouse say so by an attribute, which other worlds can read.
(() => {
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this instanceof Element && /^(click|mouse|pointer)/.test(type)) this.setAttribute("data-heard", type);
    return add.call(this, type, ...rest);
  };
})();
