// The controls of a page that no click on the middle of these boxes reaches, [x, y, width, height] each: one word each.
(boxes) => {
  const all = "#area input, #area textarea, #area select, #area button, #area a, #area [tabindex], #area [data-heard]";
  const dialogs = ".ui-dialog button, .ui-dialog input";
  const listed = (element) => element.matches("select") && element.querySelector("option");
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.width > 1 && box.height > 1 && hit && (element.contains(hit) || hit.contains(element));
  };
  const controls = [...document.querySelectorAll(`${all}, ${dialogs}`)].filter(shown);
  const hits = boxes.map(([x, y, width, height]) => document.elementFromPoint(x + width / 2, y + height / 2));
  const byLabel = (element) => [...(element.labels ?? [])].some((label) => hits.some((hit) => label.contains(hit)));
  const reached = (element) =>
    hits.some((hit) => hit && (element.contains(hit) || hit.closest("a, button, label") === element)) ||
    byLabel(element) ||
    listed(element);
  const innermost = (element) => !controls.some((other) => other !== element && element.contains(other));
  return controls
    .filter((element) => innermost(element) && !reached(element))
    .map((element) => (element.id ? `${element.localName}#${element.id}` : element.localName));
}
