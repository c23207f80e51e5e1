// What all screens do: forms and switches that leave no trace in the history, chips, and fields that can be emptied.

// A form is sent without a step in the history: BACK leads to where its screen was opened.
addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  event.preventDefault();
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (form.dataset.then === "back") history.back();
  else location.replace(answer.url);
});

addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.post) {
    const isOn = button.ariaChecked !== "true";
    await fetch(button.dataset.post, { method: "POST", body: new URLSearchParams({ on: isOn }) });
    button.ariaChecked = isOn;
  } else if (button.dataset.value) {
    for (const other of button.parentElement.querySelectorAll("[role=radio]")) other.ariaChecked = other === button;
    button.parentElement.querySelector("input").value = button.dataset.value;
  } else if (button.matches(".clear")) {
    const field = button.previousElementSibling;
    field.value = "";
    field.focus();
  }
});

// A form with an empty required field is not sent; the cursor goes to that field instead of a bubble that fades in.
addEventListener("invalid", (event) => {
  event.preventDefault();
  event.target.form.querySelector(":invalid").focus();
}, true);

// What was kept from before may be true no more.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
