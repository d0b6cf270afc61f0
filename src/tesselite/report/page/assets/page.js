// The page's ground: one namespace, small DOM helpers, events, and the unpacking of data.
"use strict";

const Page = {
  document: null, // what the page shows, arrays unpacked
  run: null, // the run that is looked at, as made by elites.js
  row: -1, // the elite that is looked at; -1 for none
  follow: true, // whether that is the best, whichever it will be
  colour: "fitness",
  pen: null,
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

// Existing entries stay: an open list would close.
Page.options = (select, entries, chosen) => {
  const same = select.length === entries.length
    && entries.every(([value, text], i) => select.options[i].value === value && select.options[i].textContent === text);
  if (!same) Page.fill(select, ...entries.map(([value, text]) => Page.make("option", { value }, text)));
  if (select.value !== chosen) select.value = chosen;
};

Page.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas as wide as its box (or as wanted), sharp on any screen; returns its context with one unit per CSS pixel. While a
// file of the canvas is made (save.js), its pen takes the place of the context.
Page.fit = (canvas, height, wanted) => {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = wanted || canvas.parentElement.clientWidth - 2 * (parseFloat(getComputedStyle(canvas.parentElement).paddingLeft) || 0);
  if (Page.pen && Page.pen.canvas === canvas) return { context: (Page.pen.used = Page.pen.make(width, height)), width, height };
  canvas.style.width = wanted ? `${wanted}px` : "";
  canvas.style.height = `${height}px`;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `12px ${Page.css("--font")}`;
  return { context, width, height };
};

// A context to measure texts with, before it is known how large a drawing will be.
Page.ruler = () => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.font = `12px ${Page.css("--font")}`;
  return context;
};

// -- data: base64 of zlib of little-endian arrays; see packed_arrays.py -----------------------------------------------------
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
