// The house's one canvas: grids of cells and planes with points, painted from numbers that the
// kernel computed. Nothing is computed here but positions and colours. Grid and Plane stand in
// files of their own; this one makes the elements, listens, and paints.
//
// From the kernel: `scene` (what to paint, rarely changed), `layout_of_data` (name and shape of
// each array in `data`), `data` (all arrays as one float32 buffer), `marks` (what stands out),
// `seen` (the newest point the kernel has answered). To the kernel: `point` and `cursor` (only
// the newest counts) and messages of kind "press" (each one counts).

const HELP = {
  plane: "Arrow keys move the point, with Shift in larger steps.",
  look: "Arrow keys move from cell to cell; Page Up and Page Down from head to head.",
  paint: "Arrow keys move from cell to cell; Space or Enter changes a cell.",
};

function addPane(view, spec) {
  const shape = spec.kind === "grid" ? new Grid(spec) : new Plane(spec);
  const figure = document.createElement("div");
  figure.className = `mh-pane mh-${spec.kind}${spec.wide ? " mh-wide" : ""}`;
  const title = document.createElement("div");
  title.className = "mh-title";
  title.textContent = spec.title;
  const canvas = document.createElement("canvas");
  const active = spec.kind === "grid" ? spec.touch !== "none" : Boolean(spec.handle);
  canvas.setAttribute("role", active ? "application" : "img");
  canvas.setAttribute("aria-label", [spec.title, spec.alt].filter(Boolean).join(". "));
  canvas.dataset.pane = spec.name;
  if (active) {
    canvas.tabIndex = 0;
    canvas.dataset.lmSuppressShortcuts = "true"; // or JupyterLab swallows the arrow keys
    const help = document.createElement("span");
    help.id = `mh-help-${Math.random().toString(36).slice(2)}`;
    help.className = "mh-unseen";
    help.textContent = HELP[spec.kind === "grid" ? spec.touch : "plane"];
    canvas.setAttribute("aria-describedby", help.id);
    figure.append(help);
    if (spec.kind === "plane" || spec.touch === "paint") canvas.style.touchAction = "none";
  }
  const readout = document.createElement("div");
  readout.className = "mh-readout";
  readout.setAttribute("aria-hidden", "true");
  if (spec.title) figure.append(title);
  figure.append(canvas, readout);
  const pane = { spec, shape, figure, canvas, readout, width: 0, height: 0 };
  if (spec.kind === "grid") listenToGrid(view, pane, active);
  else if (active) listenToPlane(view, pane);
  canvas.addEventListener("focus", view.schedule);
  canvas.addEventListener("blur", () => {
    readout.classList.remove("mh-shown");
    view.schedule();
  });
  return pane;
}

function listenToPlane(view, { spec, shape, canvas }) {
  let held = false;
  const put = (point) => {
    const number = (view.sent += 1);
    shape.local = [...point, number];
    view.model.set("point", { pane: spec.name, x: point[0], y: point[1], number });
    view.model.save_changes(); // while one message is on its way, only the newest is kept
    view.schedule();
  };
  const follow = (event) => put(shape.toPlane(event.offsetX, event.offsetY));
  canvas.addEventListener("pointerdown", (event) => {
    held = true;
    canvas.setPointerCapture(event.pointerId);
    follow(event);
  });
  canvas.addEventListener("pointermove", (event) => held && follow(event));
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (held = false));
  canvas.addEventListener("keydown", (event) => {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const direction = ways[event.key];
    if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const step = event.shiftKey ? 0.5 : 0.1;
    const [x, y] = shape.handle(view.arrays) || [0, 0];
    put(shape.inside([x + direction[0] * step, y + direction[1] * step]));
  });
  canvas.style.cursor = "grab";
}

function listenToGrid(view, pane, active) {
  const { spec, shape, canvas, readout } = pane;
  let stroke = null; // the last cell of the stroke that is being painted
  const show = (cell) => {
    pane.shown = cell;
    readout.textContent = shape.describe(cell);
    const [x, y] = shape.anchor(cell);
    readout.style.left = `${canvas.offsetLeft + Math.min(Math.max(x, 60), pane.width - 60)}px`;
    readout.style.top = `${canvas.offsetTop + y - 6}px`;
    readout.classList.add("mh-shown");
  };
  const report = () => {
    const [head, row, column] = shape.cell;
    view.model.set("cursor", { pane: spec.name, head, row, column });
    view.model.save_changes();
    view.schedule();
  };
  const press = (dragged) => {
    const [head, row, column] = shape.cell;
    view.model.send({ kind: "press", pane: spec.name, head, row, column, dragged });
  };
  canvas.addEventListener("pointermove", (event) => {
    const cell = shape.hit(event.offsetX, event.offsetY);
    if (cell) show(cell);
    else readout.classList.remove("mh-shown");
    if (!stroke || !cell || String(cell) === String(stroke)) return;
    for (const passed of shape.way(stroke, cell)) { // a quick hand leaves none out
      shape.cell = passed;
      press(true);
    }
    stroke = cell;
    report();
  });
  canvas.addEventListener("pointerleave", () => readout.classList.remove("mh-shown"));
  if (!active) return;
  canvas.addEventListener("pointerdown", (event) => {
    const cell = shape.hit(event.offsetX, event.offsetY);
    if (!cell) return;
    if (spec.touch === "paint") {
      stroke = cell;
      canvas.setPointerCapture(event.pointerId);
    }
    shape.cell = cell;
    report();
    press(false);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (stroke = null));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      show(shape.cell);
      press(false);
    } else if (shape.move(event.key, event.shiftKey ? 5 : 1)) {
      report();
      show(shape.cell);
      view.spoken.textContent = readout.textContent;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function unpack(model) {
  const view = model.get("data");
  const arrays = {};
  if (!view || !view.byteLength) return arrays;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const all = new Float32Array(bytes.slice().buffer); // a copy: floats must be aligned to 4 bytes
  let start = 0;
  for (const [name, shape] of model.get("layout_of_data")) {
    const size = shape.reduce((product, n) => product * n, 1);
    arrays[name] = { shape, data: all.subarray(start, start + size) };
    start += size;
  }
  return arrays;
}

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "mh-canvas";
  const spoken = document.createElement("div");
  spoken.className = "mh-unseen";
  spoken.setAttribute("aria-live", "polite");
  el.append(root, spoken);

  let frame = 0;
  let painted = 0;
  let fresh = true; // the numbers changed since they were unpacked
  let theme = null;
  let panes = [];
  const view = { model, arrays: {}, sent: model.get("seen"), spoken, schedule: () => {
    frame ||= requestAnimationFrame(paint);
  } };

  const build = () => {
    panes = model.get("scene").map((spec) => addPane(view, spec));
    root.replaceChildren(...panes.map((pane) => pane.figure));
    view.schedule();
  };

  function paint() {
    frame = 0;
    if (!root.isConnected || !root.clientWidth) return; // painted when the size observer calls
    theme ||= readTheme(root);
    const news = fresh;
    if (news) view.arrays = unpack(model);
    fresh = false;
    // Grids below one another start at the same place, so that their columns meet.
    const context = panes[0]?.canvas.getContext("2d");
    const left = Math.max(0, ...panes.map(({ shape }) => shape.margin(context, theme)));
    for (const pane of panes) {
      const { shape, canvas } = pane;
      if (shape.local && shape.local[2] <= model.get("seen")) shape.local = null;
      const context = canvas.getContext("2d");
      const width = pane.figure.clientWidth - 2 * PADDING;
      const ratio = window.devicePixelRatio || 1;
      const height = Math.ceil(shape.place(width, left, context, theme));
      if (pane.width !== width || pane.height !== height || pane.ratio !== ratio) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
        Object.assign(pane, { width, height, ratio });
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      const marks = model.get("marks")[pane.spec.name] || {};
      shape.paint(context, theme, view.arrays, marks, document.activeElement === canvas);
      if (news && pane.shown) pane.readout.textContent = shape.describe(pane.shown);
    }
    if (news) root.dataset.painted = String(++painted); // how often new numbers were painted
  }

  const refresh = () => {
    fresh = true;
    view.schedule();
  };
  const repaint = () => {
    theme = null;
    view.schedule();
  };
  model.on("change:scene", build);
  model.on("change:data", refresh);
  model.on("change:layout_of_data", refresh);
  model.on("change:marks", view.schedule);
  model.on("change:seen", view.schedule);
  let known = 0;
  const size = new ResizeObserver(() => {
    if (root.clientWidth !== known) view.schedule(); // a new height is of our own making
    known = root.clientWidth;
  });
  size.observe(root);
  // JupyterLab says on <body> which theme is on, and loads its colours a little later.
  const themed = new MutationObserver(() => {
    repaint();
    setTimeout(repaint, 300);
  });
  themed.observe(document.body, { attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
  build();
  return () => {
    cancelAnimationFrame(frame);
    size.disconnect();
    themed.disconnect();
  };
}

export default { render };
