// What a picture says in words: its sentence and its errors, and the names that ipywidgets
// does not give to the controls beside it.

const TOUCHABLE = "[tabindex], input, select, textarea, button, [contenteditable=true]";

function nameOne(element, { name, mark }) {
  // JupyterLab would take the arrow keys of whatever is not a text field.
  for (const part of element.querySelectorAll(TOUCHABLE)) part.dataset.lmSuppressShortcuts = "true";
  if (element.matches("img")) element.alt = name;
  // ipywidgets writes the tooltip it was not given as the word "null".
  for (const part of element.querySelectorAll('[title="null"]')) part.removeAttribute("title");
  const set = (selector, label) =>
    element.querySelectorAll(selector).forEach((part) => part.setAttribute("aria-label", label));
  set("select, textarea, input:not([type=radio])", name);
  set("[role=slider]", name);
  for (const value of element.querySelectorAll("[contenteditable=true]")) {
    value.setAttribute("role", "textbox");
    value.setAttribute("aria-label", `${name}, typed`);
  }
  // Without a name of their own, the arrow keys lead from one group of radio buttons to the next.
  for (const button of element.querySelectorAll("input[type=radio]")) button.name = mark;
  const group = (role) => {
    element.setAttribute("role", role);
    element.setAttribute("aria-label", name);
  };
  if (element.matches(".widget-radio, .widget-radio-box, :has(> .widget-radio-box)")) group("radiogroup");
  if (element.matches(".widget-toggle-buttons")) {
    group("group");
    for (const button of element.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.classList.contains("mod-active")));
  }
}

function render({ model, el }) {
  el.classList.add("mh-voice");
  const line = (role, live) => {
    const part = document.createElement("div");
    part.className = `mh-${role}`;
    part.setAttribute("aria-live", live);
    el.append(part);
    return part;
  };
  const sentence = line("sentence", "polite");
  const error = line("error", "assertive");
  const speak = () => {
    sentence.textContent = model.get("sentence");
    error.textContent = model.get("error");
    error.hidden = !error.textContent;
  };

  // Controls appear after this view and some draw themselves anew: name them whenever they do.
  let around = null;
  const nameAll = () => {
    for (const entry of model.get("names"))
      for (const element of around?.getElementsByClassName(entry.mark) ?? []) nameOne(element, entry);
  };
  const watcher = new MutationObserver(nameAll);
  let frame = 0;
  const look = () => {
    around = el.closest(".mh-panel") || el.parentElement;
    if (!around) {
      frame = requestAnimationFrame(look); // not in the page yet
      return;
    }
    watcher.observe(around, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
    nameAll();
  };

  model.on("change:sentence", speak);
  model.on("change:error", speak);
  model.on("change:names", nameAll);
  speak();
  look();
  return () => {
    cancelAnimationFrame(frame);
    watcher.disconnect();
  };
}

export default { render };
