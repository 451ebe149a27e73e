// One question: radio buttons or a field, the reason for each choice, a button to record with.
// The reasons need no kernel, so a quiz answers at once while a cell is still running. The answer
// travels with the press of the button, in one message: it is what stands there at that moment.

let groups = 0;

function add(parent, tag, properties = {}) {
  const element = Object.assign(document.createElement(tag), properties);
  parent.append(element);
  return element;
}

function touchable(element) {
  element.dataset.lmSuppressShortcuts = "true"; // or JupyterLab takes its arrow keys
  return element;
}

function render({ model, el }) {
  const box = add(el, "fieldset", { className: "mh-question" });
  const legend = add(box, "legend", { innerHTML: model.get("text") }); // escaped in the kernel
  const choices = model.get("choices");
  const group = `mh-question-${Math.random().toString(36).slice(2)}-${groups++}`;
  let answer = () => null;

  const buttons = choices.map((choice, index) => {
    const label = add(box, "label");
    const button = add(label, "input", { type: "radio", name: group, value: String(index) });
    add(label, "span", { innerHTML: choice.text });
    button.checked = model.get("answer") === index;
    button.addEventListener("change", () => explain(choice));
    return touchable(button);
  });
  if (buttons.length) {
    answer = () => buttons.findIndex((button) => button.checked);
  } else {
    const field = touchable(add(box, "input", { type: "text", inputMode: "decimal", size: 10 }));
    field.setAttribute("aria-label", legend.textContent);
    field.value = model.get("answer") ?? "";
    field.addEventListener("keydown", (event) => event.key === "Enter" && record());
    answer = () => field.value;
  }

  const record = () => model.send({ kind: "record", answer: answer() });
  if (model.get("recorded")) {
    const button = touchable(add(box, "button", { type: "button", textContent: "Record my prediction" }));
    button.className = "jupyter-button";
    button.addEventListener("click", record);
  }

  const reason = add(el, "div", { className: "mh-reason", hidden: true });
  reason.setAttribute("aria-live", "polite");
  function explain({ reason: why, right }) {
    if (why === undefined) return;
    reason.hidden = false;
    reason.classList.toggle("mh-right", right);
    reason.innerHTML = `<b>${right ? "Right" : "Not quite"}:</b> ${why}`;
  }
}

export default { render };
