// The archive of two features as a map: the niche of every pixel is known, so painting and pointing take no geometry.
"use strict";
{
  const MARGIN = { right: 18, top: 8, bottom: 40 };
  const EDGES_UP_TO = 3000; // niches in view: beyond, borders between them would be all one sees
  const MOST_PIXELS = 900, MOVING = 3; // pixels of a side; while the view moves, a third of them
  const map = {
    cells: null, down: false, hover: -1, view: null, box: null, moving: false, pixels: 0, niches: null, located: "", painted: "",
    image: document.createElement("canvas"), lines: document.createElement("canvas"),
  };
  const WHOLE = { x: 0, y: 0, size: 1 }; // the lower left corner of the view in the unit square, and its side

  const active = () => Boolean(Page.run && Page.run.archive.cells);

  const open = () => {
    const { archive, y_down } = Page.run;
    if (map.source !== archive.cells) Object.assign(map, { source: archive.cells, cells: Page.cells(archive.cells), located: "" });
    Object.assign(map, { down: y_down, hover: -1, view: map.view || { ...WHOLE }, painted: "" });
  };

  // The niches of the view's pixels, and their colours; each only if something has changed.
  const paint = (side) => {
    const run = Page.run, { view, cells, down } = map;
    const sharp = Math.round(Math.min(MOST_PIXELS, side * Math.min(window.devicePixelRatio || 1, 3)));
    const pixels = Math.max(1, map.moving ? Math.round(sharp / MOVING) : sharp);
    const wanted = [pixels, view.x, view.y, view.size, down].join();
    if (map.located !== wanted) {
      map.niches = Page.raster(cells, run.archive.n_niches, pixels, view, down);
      Object.assign(map, { located: wanted, painted: "", pixels });
      for (const canvas of [map.image, map.lines]) canvas.width = canvas.height = pixels;
    }
    if (map.painted) return;
    map.painted = "yes";
    const { shades, missing, reversed } = run.shades(Page.colour);
    const { words } = Page.colours.ramp(reversed);
    const empty = Page.colours.word("--empty"), masked = Page.colours.word("--masked"), absent = Page.colours.word("--missing");
    const colour_of = new Uint32Array(run.n);
    for (let row = 0; row < run.n; row++) colour_of[row] = run.later[row] ? empty : !run.mask[row] ? masked : missing[row] ? absent : words[shades[row]];
    const context = map.image.getContext("2d"), image = context.createImageData(pixels, pixels);
    const painted = new Uint32Array(image.data.buffer);
    let last = -1, colour = empty;
    map.niches.forEach((niche, i) => {
      if (niche !== last) {
        last = niche;
        const row = run.row_of(niche);
        colour = row < 0 ? empty : colour_of[row];
      }
      painted[i] = colour;
    });
    if (run.archive.n_niches * view.size ** 2 <= EDGES_UP_TO && !map.moving) soften(painted);
    context.putImageData(image, 0, 0);
  };

  // Darken pixels on a border between niches a little, so that single niches are seen.
  const soften = (painted) => {
    const { niches, pixels } = map;
    for (let y = 0; y < pixels - 1; y++) {
      for (let x = 0; x < pixels - 1; x++) {
        const i = y * pixels + x;
        if (niches[i] !== niches[i + 1] || niches[i] !== niches[i + pixels]) {
          const p = painted[i];
          painted[i] = (p & 0xff000000) | ((((p >> 16) & 255) * 0.88) << 16) | ((((p >> 8) & 255) * 0.88) << 8) | ((p & 255) * 0.88);
        }
      }
    }
  };

  const outline = (niche, colour) => {
    const { niches, pixels } = map, context = map.lines.getContext("2d");
    context.fillStyle = colour;
    niches.forEach((here, i) => {
      if (here !== niche) return;
      const x = i % pixels;
      if (x === 0 || x === pixels - 1 || [i - 1, i + 1, i - pixels, i + pixels].some((near) => niches[near] !== niche)) context.fillRect(x - 0.5, Math.floor(i / pixels) - 0.5, 2, 2);
    });
  };

  // What the sides of the view show: parts of the two features' axes.
  const sides = () => {
    const { x, y, size } = map.view;
    const [across, up] = [0, 1].map((j) => Page.run.column(`feature ${j}`));
    return [{ ...across, from: x, to: x + size }, { ...up, from: y, to: y + size, down: map.down }];
  };

  const draw = () => {
    if (!active()) return;
    const canvas = Page.by("map"), free = canvas.parentElement.clientWidth, [across, up] = sides();
    const margin = Page.frame.margin(Page.ruler(), up);
    const side = Math.min(free - margin - MARGIN.right, Math.max(300, window.innerHeight - 360));
    const { context } = Page.fit(canvas, side + MARGIN.top + MARGIN.bottom);
    const left = margin + Math.max(0, (free - margin - MARGIN.right - side) / 2);
    map.box = { left, top: MARGIN.top, side };
    paint(side);
    map.lines.getContext("2d").clearRect(0, 0, map.pixels, map.pixels);
    const chosen = Page.row >= 0 ? Page.run.archive.niches[Page.row] : -1;
    if (map.hover >= 0) outline(map.hover, Page.css("--ink"));
    if (chosen >= 0) outline(chosen, Page.css("--mark"));
    context.save();
    context.beginPath();
    context.rect(left, MARGIN.top, side, side);
    context.clip();
    context.imageSmoothingEnabled = false;
    for (const layer of [map.image, map.lines]) context.drawImage(layer, left, MARGIN.top, side, side);
    for (const [row, colour, number] of Page.pins()) {
      const place = screen(map.cells.place(Page.run.archive.niches[row]));
      if (place) Page.mark(context, ...place, colour, number);
    }
    const at = chosen >= 0 ? screen(map.cells.place(chosen)) : null;
    if (at) ring(context, ...at);
    context.restore();
    context.strokeStyle = Page.css("--line");
    context.strokeRect(left - 0.5, MARGIN.top - 0.5, side + 1, side + 1);
    Page.frame.draw(context, { left, top: MARGIN.top, width: side, height: side }, across, up);
    canvas.style.touchAction = map.view.size < 1 ? "none" : "pan-y"; // a zoomed map moves, a whole one lets the page scroll
    canvas.dataset.painted = String(Page.run.n);
  };

  const ring = (context, x, y) => {
    for (const [width, colour] of [[5, Page.css("--card")], [2.5, Page.css("--mark")]]) {
      context.beginPath();
      context.arc(x, y, 9, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
    context.lineWidth = 1;
  };

  // From a place in the unit square to the canvas, and from the screen to shares of the view, upwards.
  const screen = (place) => {
    if (!place) return null;
    const { left, top, side } = map.box, { x, y, size } = map.view, up = (place[1] - y) / size;
    return [left + ((place[0] - x) / size) * side, top + (map.down ? up : 1 - up) * side];
  };
  const shares = ({ clientX, clientY }) => {
    const bounds = Page.by("map").getBoundingClientRect(), { left, top, side } = map.box;
    const up = (clientY - bounds.top - top) / side;
    return [(clientX - bounds.left - left) / side, map.down ? up : 1 - up];
  };
  const niche_at = (event) => {
    const [u, v] = shares(event), { x, y, size } = map.view;
    return u < 0 || u >= 1 || v < 0 || v >= 1 ? -1 : map.cells.niche_of(x + u * size, y + v * size);
  };

  // Zoom by a factor around a place of the view, and move it by shares of its side. While a finger moves it, coarsely.
  let rest = 0;
  const look = (factor, [u, v] = [0.5, 0.5], [across, up] = [0, 0], moving = false) => {
    const { x, y, size } = map.view;
    const next = Math.min(1, Math.max(map.cells.least, size * factor));
    const clamp = (at) => Math.max(0, Math.min(1 - next, at));
    map.view = { size: next, x: clamp(x + u * (size - next) + across * size), y: clamp(y + v * (size - next) + up * size) };
    map.moving = moving;
    clearTimeout(rest);
    if (moving) rest = setTimeout(() => { map.moving = false; draw(); }, 150);
    draw();
  };

  // The next elite in a direction: walk until the niche changes to a filled and kept one.
  const step = (dx, dy) => {
    const run = Page.run, start = Page.row >= 0 ? run.archive.niches[Page.row] : -1, from = start >= 0 ? map.cells.place(start) : null;
    if (!from) { Page.select_best(); return; }
    const stride = map.view.size / 700;
    for (let k = 1; ; k++) {
      const u = from[0] + k * stride * dx, v = from[1] + k * stride * (map.down ? dy : -dy);
      if (u < 0 || v < 0 || u > 1 || v > 1) return;
      const niche = map.cells.niche_of(u, v);
      const row = niche === start ? -1 : run.row_of(niche);
      if (row >= 0 && run.mask[row]) { Page.select(row); return; }
    }
  };

  Page.map = {
    active,
    draw,
    look,
    shares,
    step,
    niche_at,
    open: () => { open(); draw(); },
    repaint: () => { map.painted = ""; draw(); },
    reset: () => { map.view = { ...WHOLE }; draw(); },
    is_whole: () => map.view.size === 1,
    hover: (niche) => { if (niche !== map.hover) { map.hover = niche; draw(); } },
    // For tests and other views: where on the screen an elite is.
    locate: (row) => {
      const at = screen(map.cells.place(Page.run.archive.niches[row]));
      if (!at) return null;
      const bounds = Page.by("map").getBoundingClientRect();
      return [bounds.left + at[0], bounds.top + at[1]];
    },
  };
}
