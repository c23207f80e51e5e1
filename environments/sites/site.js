// What all pages do: late content, tabs, required fields.

// Fills every <div data-late="address"> with what the address answers, after the page has loaded; a tab asks again.
async function fill(place) {
  const answer = await fetch(place.dataset.late);
  place.innerHTML = await answer.text();
}
addEventListener("load", () => document.querySelectorAll("[data-late]").forEach(fill));

addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (!tab) return;
  for (const other of tab.parentElement.children) other.setAttribute("aria-selected", other === tab);
  const panel = document.getElementById("panel");
  panel.innerHTML = '<p class="loading">Loading</p>';
  fetch(tab.dataset.source).then((answer) => answer.text()).then((content) => {
    if (tab.ariaSelected === "true") panel.innerHTML = content;
  });
});

// A form with an empty required field is not sent; the cursor goes to that field instead of a bubble that fades in.
addEventListener("invalid", (event) => {
  event.preventDefault();
  event.target.form.querySelector(":invalid").focus();
}, true);
