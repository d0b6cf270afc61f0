// The page's ground: one namespace, small DOM makers, formats, events, and how the data are unpacked.
"use strict";

const Page = {
  document: null, // what the page shows, arrays unpacked
  run: null, // the run that is looked at, as made by elites.js
  row: -1, // the elite that is looked at; -1 for none
  colour: "fitness",
  scenario: "", // a scenario's name; "" for the training setting
};

// -- events: who changes something says so, who draws listens ---------------------------------------------------------
{
  const listeners = new Map();
  Page.on = (name, listener) => {
    if (!listeners.has(name)) listeners.set(name, []);
    listeners.get(name).push(listener);
  };
  Page.tell = (name, detail) => (listeners.get(name) || []).forEach((listener) => listener(detail));
}

// -- elements: text is only ever set as text, so nothing a user named can become markup -------------------------------
Page.by = (id) => document.getElementById(id);

Page.make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

Page.fill = (element, ...children) => element.replaceChildren(...children);

// Entries that are there already stay: a list that somebody has open would close.
Page.options = (select, entries, chosen) => {
  const same = select.length === entries.length
    && entries.every(([value, text], i) => select.options[i].value === value && select.options[i].textContent === text);
  if (!same) Page.fill(select, ...entries.map(([value, text]) => Page.make("option", { value }, text)));
  if (select.value !== chosen) select.value = chosen;
};

Page.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas as wide as its box, sharp on any screen; returns its context with one unit per CSS pixel.
Page.fit = (canvas, height) => {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = canvas.parentElement.clientWidth - 2 * (parseFloat(getComputedStyle(canvas.parentElement).paddingLeft) || 0);
  canvas.style.height = `${height}px`;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `12px ${Page.css("--font")}`;
  return { context, width, height };
};

// -- formats ----------------------------------------------------------------------------------------------------------
Page.number = (value) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(3);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(4));
};

Page.share = (value) => (Number.isFinite(value) ? `${+(100 * value).toPrecision(3)} %` : "–");

Page.duration = (seconds) => {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 120) return `${+seconds.toPrecision(3)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

// Round values from low to high for the ticks of an axis, about n of them.
Page.ticks = (low, high, n = 5) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(+(i * step).toPrecision(12));
  return ticks;
};

// The same for a logarithmic axis: powers of ten; 1, 2 and 5 of each if it is short; and even steps if it is tiny.
Page.log_ticks = (low, high) => {
  const powers = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) powers.push(+`1e${k}`);
  const within = (tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9);
  if (high / low >= 100) {
    const ticks = powers.filter(within), every = Math.ceil(ticks.length / 7);
    return ticks.filter((_, i) => i % every === 0);
  }
  const ticks = powers.flatMap((power) => [1, 2, 5].map((k) => +(k * power).toPrecision(12))).filter(within);
  return ticks.length > 1 ? ticks : Page.ticks(low, high);
};

// -- data: base64 of zlib of little-endian arrays; see payload.py -----------------------------------------------------
Page.inflate = async (text) => {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

const ARRAYS = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array };

Page.unpack = (value, block) => {
  if (Array.isArray(value)) return value.map((item) => Page.unpack(item, block));
  if (value === null || typeof value !== "object") return value;
  if (value.$array) {
    const array = new ARRAYS[value.$array](block, value.at, value.shape.reduce((a, b) => a * b, 1));
    array.shape = value.shape;
    return array;
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, Page.unpack(item, block)]));
};
