// A part of the canvas: sizes, colours and numbers. canvas.py joins the parts, for an anywidget is one module.

const FONT = 13;
const SMALL = 11;
const GAP = 18; // between the maps of several heads
const PADDING = 3; // around a canvas, so that nothing cuts its focus ring (see canvas.css)

const RAMPS = {
  light: ["#f3f6fa", "#c9dff0", "#85bade", "#3d8ec4", "#1763a6", "#08306b"],
  dark: ["#1d2733", "#1d4468", "#22679f", "#3d8fd1", "#86bff0", "#e2f1ff"],
};
const SIGNED = {
  light: ["#7f3b08", "#c8690f", "#f5c187", "#f3f4f6", "#a9cfe8", "#3d8ec4", "#08306b"],
  dark: ["#ffd9a8", "#e08a2c", "#7d4712", "#20262e", "#1d4f7c", "#3d8fd1", "#d3eaff"],
};

const probe = document.createElement("canvas").getContext("2d");

function rgb(colour) {
  probe.fillStyle = "#000";
  probe.fillStyle = colour; // the browser turns any CSS colour into #rrggbb or rgba(…)
  const text = probe.fillStyle;
  if (text[0] !== "#") return text.match(/[\d.]+/g).slice(0, 3).map(Number);
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

function luminance(colour) {
  const [r, g, b] = colour.map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function makeRamp(stops) {
  const colours = stops.map(rgb);
  const table = [];
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(place), colours.length - 2);
    const mixed = colours[low].map((c, j) => c + (place - low) * (colours[low + 1][j] - c));
    // White on the cell, or black, whichever contrasts more.
    table.push([`rgb(${mixed.map(Math.round)})`, luminance(mixed) > 0.18 ? "#000" : "#fff"]);
  }
  return (share) => table[Math.round(255 * Math.min(1, Math.max(0, share)))];
}

function readTheme(element) {
  const style = getComputedStyle(element);
  const colour = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const paper = colour("--jp-layout-color0", "#ffffff");
  const dark = luminance(rgb(paper)) < 0.3;
  return {
    paper,
    text: colour("--jp-ui-font-color1", dark ? "#e6e6e6" : "#212121"),
    faint: colour("--jp-ui-font-color2", dark ? "#b0b0b0" : "#616161"),
    line: colour("--jp-border-color2", dark ? "#4a4a4a" : "#d6d6d6"),
    key: dark ? "#7fbdf2" : "#1763a6",
    query: dark ? "#ffb15c" : "#b4500b",
    mix: dark ? "#e3a6e8" : "#8a2a91",
    family: colour("--jp-ui-font-family", "system-ui, sans-serif"),
    ramp: makeRamp(dark ? RAMPS.dark : RAMPS.light),
    signed: makeRamp(dark ? SIGNED.dark : SIGNED.light),
  };
}

function number(value, decimals) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  return value.toFixed(decimals).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
}

function widest(words, context, theme) {
  context.font = `${FONT}px ${theme.family}`;
  return Math.ceil(Math.max(0, ...words.map((word) => context.measureText(word).width)));
}
