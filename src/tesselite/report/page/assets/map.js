// The archive of two features as a map: every pixel knows its niche, so painting and pointing take no geometry.
"use strict";
{
  const MARGIN = { right: 18, top: 8, bottom: 40 };
  const EDGES_UP_TO = 3000; // niches: beyond, borders between them would be all one sees
  const map = { side: 0, niches: null, image: null, lines: null, flip: false, hover: -1, view: { x: 0, y: 0, size: 1 }, box: null };

  const decode = (differences) => {
    const [rows, side] = differences.shape;
    const niches = Int32Array.from(differences);
    for (let i = side; i < rows * side; i++) niches[i] += niches[i - side];
    return niches;
  };

  const open = () => {
    const { archive, y_down } = Page.run;
    map.flip = y_down;
    map.side = archive.picture.shape[1];
    if (map.source !== archive.picture) { map.niches = decode(archive.picture); map.source = archive.picture; }
    map.image = map.image && map.image.width === map.side ? map.image : new OffscreenCanvas(map.side, map.side);
    map.lines = map.lines && map.lines.width === map.side ? map.lines : new OffscreenCanvas(map.side, map.side);
    map.hover = -1;
  };

  const paint = () => {
    const run = Page.run, { niches, side } = map;
    const { shades, missing, reversed } = run.shades(Page.colour);
    const { words } = Page.colours.ramp(reversed);
    const empty = Page.colours.word("--empty"), masked = Page.colours.word("--masked"), absent = Page.colours.word("--missing");
    const colour_of = new Uint32Array(run.n);
    for (let row = 0; row < run.n; row++) colour_of[row] = !run.mask[row] ? masked : missing[row] ? absent : words[shades[row]];
    const context = map.image.getContext("2d");
    const image = context.createImageData(side, side);
    const pixels = new Uint32Array(image.data.buffer);
    let last = -1, colour = empty;
    for (let i = 0; i < niches.length; i++) {
      if (niches[i] !== last) {
        last = niches[i];
        const row = run.row_of(last);
        colour = row < 0 ? empty : colour_of[row];
      }
      pixels[i] = colour;
    }
    if (run.archive.n_niches <= EDGES_UP_TO) soften(pixels);
    context.putImageData(image, 0, 0);
  };

  // Darken pixels on a border between niches a little, so that single niches are seen.
  const soften = (pixels) => {
    const { niches, side } = map;
    for (let y = 0; y < side - 1; y++) {
      for (let x = 0; x < side - 1; x++) {
        const i = y * side + x;
        if (niches[i] !== niches[i + 1] || niches[i] !== niches[i + side]) {
          const p = pixels[i];
          pixels[i] = (p & 0xff000000) | ((((p >> 16) & 255) * 0.88) << 16) | ((((p >> 8) & 255) * 0.88) << 8) | ((p & 255) * 0.88);
        }
      }
    }
  };

  // Where a niche is in the picture: the mean of its pixels; null if it is too small to have one.
  const place = (niche) => {
    let n = 0, x = 0, y = 0;
    map.niches.forEach((here, i) => { if (here === niche) { n++; x += i % map.side; y += Math.floor(i / map.side); } });
    return n ? [(x / n + 0.5) / map.side, (y / n + 0.5) / map.side] : null;
  };

  const outline = (niche, colour) => {
    const { niches, side } = map;
    const context = map.lines.getContext("2d");
    context.fillStyle = colour;
    for (let i = 0; i < niches.length; i++) {
      if (niches[i] !== niche) continue;
      const x = i % side;
      if (x === 0 || x === side - 1 || niches[i - 1] !== niche || niches[i + 1] !== niche || niches[i - side] !== niche || niches[i + side] !== niche) {
        context.fillRect(x - 0.5, Math.floor(i / side) - 0.5, 2, 2);
      }
    }
  };

  const draw = () => {
    if (!Page.run || !Page.run.archive.picture) return;
    const canvas = Page.by("map");
    const free = canvas.parentElement.clientWidth;
    const [across, up] = sides();
    const margin = Page.frame.margin(Page.ruler(), up);
    const side = Math.min(free - margin - MARGIN.right, Math.max(300, window.innerHeight - 360));
    const { context } = Page.fit(canvas, side + MARGIN.top + MARGIN.bottom);
    const left = margin + Math.max(0, (free - margin - MARGIN.right - side) / 2);
    map.box = { left, top: MARGIN.top, side };
    const { x, y, size } = map.view;
    map.lines.getContext("2d").clearRect(0, 0, map.side, map.side);
    const chosen = Page.row >= 0 ? Page.run.archive.niches[Page.row] : -1;
    if (map.hover >= 0) outline(map.hover, Page.css("--ink"));
    if (chosen >= 0) outline(chosen, Page.css("--mark"));
    context.save();
    context.beginPath();
    context.rect(left, MARGIN.top, side, side);
    context.clip();
    if (map.flip) { context.translate(0, 2 * MARGIN.top + side); context.scale(1, -1); }
    context.imageSmoothingEnabled = size > 0.5;
    for (const layer of [map.image, map.lines]) {
      context.drawImage(layer, x * map.side, y * map.side, size * map.side, size * map.side, left, MARGIN.top, side, side);
    }
    if (chosen >= 0) {
      const at = place(chosen);
      if (at) ring(context, left + ((at[0] - x) / size) * side, MARGIN.top + ((at[1] - y) / size) * side);
    }
    context.restore();
    context.strokeStyle = Page.css("--line");
    context.strokeRect(left - 0.5, MARGIN.top - 0.5, side + 1, side + 1);
    Page.frame.draw(context, { left, top: MARGIN.top, width: side, height: side }, across, up);
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

  // What the sides of the view show: parts of the two features' axes.
  const sides = () => {
    const { x, y, size } = map.view, below = map.flip ? y : 1 - y - size;
    const [across, up] = [0, 1].map((j) => Page.run.column(`feature ${j}`));
    return [{ ...across, from: x, to: x + size }, { ...up, from: below, to: below + size, down: map.flip }];
  };

  const niche_at = (event) => {
    const bounds = Page.by("map").getBoundingClientRect(), { left, top, side } = map.box, { x, y, size } = map.view;
    const u = (event.clientX - bounds.left - left) / side;
    let v = (event.clientY - bounds.top - top) / side;
    if (map.flip) v = 1 - v;
    if (u < 0 || u >= 1 || v < 0 || v >= 1) return -1;
    return map.niches[Math.floor((y + v * size) * map.side) * map.side + Math.floor((x + u * size) * map.side)];
  };

  const zoom = (factor, u = 0.5, v = 0.5) => {
    const { x, y, size } = map.view;
    const next = Math.min(1, Math.max(1 / 32, size * factor));
    const clamp = (at) => Math.max(0, Math.min(1 - next, at));
    map.view = { size: next, x: clamp(x + u * (size - next)), y: clamp(y + v * (size - next)) };
    draw();
  };

  // The next elite in a direction: walk over the picture until the niche changes to a filled and kept one.
  const step = (dx, dy) => {
    const run = Page.run;
    const from = Page.row >= 0 ? place(run.archive.niches[Page.row]) : null;
    if (!from) { Page.select_best(); return; }
    let px = Math.floor(from[0] * map.side), py = Math.floor(from[1] * map.side);
    const start = run.archive.niches[Page.row];
    if (map.flip) dy = -dy;
    for (;;) {
      px += dx; py += dy;
      if (px < 0 || py < 0 || px >= map.side || py >= map.side) return;
      const niche = map.niches[py * map.side + px];
      const row = niche === start ? -1 : run.row_of(niche);
      if (row >= 0 && run.mask[row]) { Page.select(row); return; }
    }
  };

  Page.map = {
    draw,
    zoom,
    open: () => { open(); paint(); draw(); },
    repaint: () => { if (Page.run.archive.picture) { paint(); draw(); } },
    reset: () => { map.view = { x: 0, y: 0, size: 1 }; draw(); },
    // For tests and other views: where on the screen an elite is.
    locate: (row) => {
      const at = place(Page.run.archive.niches[row]);
      if (!at) return null;
      const bounds = Page.by("map").getBoundingClientRect(), { left, top, side } = map.box, { x, y, size } = map.view;
      const v = (at[1] - y) / size;
      return [bounds.left + left + ((at[0] - x) / size) * side, bounds.top + top + (map.flip ? 1 - v : v) * side];
    },
    listen: () => {
      const canvas = Page.by("map");
      let grabbed = null;
      canvas.addEventListener("pointermove", (event) => {
        if (!Page.run || !Page.run.archive.picture) return;
        if (grabbed && (event.buttons & 1) && map.view.size < 1) {
          const { side } = map.box;
          const dy = (event.clientY - grabbed.y) / side;
          map.view.x = grabbed.view.x - ((event.clientX - grabbed.x) / side) * map.view.size;
          map.view.y = grabbed.view.y - (map.flip ? -dy : dy) * map.view.size;
          grabbed.moved = true;
          zoom(1);
          return;
        }
        const niche = niche_at(event);
        Page.tip(event, niche < 0 ? -1 : Page.run.row_of(niche), niche < 0 ? undefined : niche);
        if (niche !== map.hover) { map.hover = niche; draw(); }
      });
      canvas.addEventListener("pointerdown", (event) => { grabbed = { x: event.clientX, y: event.clientY, view: { ...map.view } }; });
      canvas.addEventListener("pointerleave", (event) => {
        Page.tip(event, -1);
        if (Page.run && Page.run.archive.picture && map.hover >= 0) { map.hover = -1; draw(); }
      });
      canvas.addEventListener("click", (event) => {
        if (!Page.run || !Page.run.archive.picture || (grabbed && grabbed.moved)) return;
        const niche = niche_at(event);
        const row = niche < 0 ? -1 : Page.run.row_of(niche);
        if (row >= 0) Page.select(row);
      });
      canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey || !Page.run || !Page.run.archive.picture) return; // a plain wheel scrolls the page
        event.preventDefault();
        const bounds = canvas.getBoundingClientRect(), { left, top, side } = map.box;
        const v = (event.clientY - bounds.top - top) / side;
        zoom(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - bounds.left - left) / side, map.flip ? 1 - v : v);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
        if (!Page.run || !Page.run.archive.picture) return;
        if (moves[event.key]) step(...moves[event.key]);
        else if (event.key === "+") zoom(0.5);
        else if (event.key === "-") zoom(2);
        else if (event.key === "0") Page.map.reset();
        else return;
        event.preventDefault();
      });
      Page.by("zoom-in").addEventListener("click", () => zoom(0.5));
      Page.by("zoom-out").addEventListener("click", () => zoom(2));
      Page.by("zoom-all").addEventListener("click", () => Page.map.reset());
    },
  };
}
