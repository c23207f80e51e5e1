// Title, controls and text of the page in the form of an accessibility tree, as far as walls are told by it.
() => {
  const roles = { A: "link", BUTTON: "button", INPUT: "textbox", TEXTAREA: "textbox", SELECT: "combobox", IFRAME: "Iframe" };
  const kinds = { checkbox: "checkbox", radio: "radio", submit: "button", button: "button", image: "button" };
  const describe = (element) => {
    const role = kinds[element.type] ?? roles[element.tagName];
    const name = element.ariaLabel || element.title || element.placeholder || element.innerText || element.value || "";
    return `${role} '${name.trim()}'`;
  };
  const found = document.querySelectorAll("a[href], button, input:not([type=hidden]), textarea, select, iframe");
  return [`RootWebArea '${document.title}'`, ...[...found].map(describe), document.body?.innerText ?? ""].join("\n");
}
