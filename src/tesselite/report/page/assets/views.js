// How single elites are drawn: what any drawing needs, and two for all, a posture and a trajectory. Problems can add others.
"use strict";
{
  // One elite's part of an array of a view: numbers in their units, shape without the first axis.
  const part = (entry, k) => {
    const [, ...shape] = entry.values.shape;
    const size = shape.reduce((a, b) => a * b, 1);
    const raw = entry.values.subarray(k * size, (k + 1) * size);
    if (!entry.scale) return { data: raw, shape };
    const data = Float64Array.from(raw);
    if (entry.differences) {
      const stride = size / shape[0];
      for (let i = stride; i < size; i++) data[i] += data[i - stride];
    }
    const [offset, step] = entry.scale;
    for (let i = 0; i < size; i++) data[i] = offset + step * data[i];
    return { data, shape };
  };

  const opened = (view, k) => {
    const entries = Object.entries(view).filter(([, entry]) => entry && entry.values && entry.values.shape);
    return { view, ...Object.fromEntries(entries.map(([name, entry]) => [name, part(entry, k)])) };
  };

  const line = (context, points, colour, width) => {
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.strokeStyle = colour;
    context.stroke();
  };
  const dot = (context, [x, y], radius, colour, rim) => {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    if (rim) { context.lineWidth = 1.5; context.strokeStyle = rim; context.stroke(); }
  };

  // -- posture: a chain of points ---------------------------------------------------------------------------------------
  const posture = {
    setting: (view) => ({ view, points: { data: [], shape: [0] } }),
    draw: (context, { width, height }, { view, points: { data, shape } }) => {
      const [x0, x1, y0, y1] = view.bounds;
      const scale = Math.min(width / (x1 - x0), height / (y1 - y0)) * 0.94;
      const at = (x, y) => [width / 2 + (x - (x0 + x1) / 2) * scale, height / 2 - (y - (y0 + y1) / 2) * scale];
      const points = Array.from({ length: shape[0] }, (_, i) => at(data[2 * i], data[2 * i + 1]));
      context.strokeStyle = Page.css("--line");
      context.lineWidth = 1;
      context.beginPath();
      context.arc(...at(0, 0), (view.reach || 1) * scale, 0, 2 * Math.PI);
      context.fillStyle = Page.css("--card");
      context.fill();
      context.stroke();
      if (!points.length) return;
      line(context, points, Page.css("--accent"), 5);
      points.slice(1, -1).forEach((p) => dot(context, p, 4, Page.css("--card"), Page.css("--accent")));
      dot(context, points[0], 7, Page.css("--ink"));
      dot(context, points[points.length - 1], 7, Page.css("--mark"));
    },
  };

  // -- trajectory: a way through walls --------------------------------------------------------------------------
  const walls_of = (view) => {
    const [rows, columns] = view.walls.shape;
    const canvas = Page.make("canvas", { width: columns, height: rows });
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const wall = Page.colours.word("--soft"), free = Page.colours.word("--card");
    view.walls.forEach((is_wall, i) => { pixels[i] = is_wall ? wall : free; });
    context.putImageData(image, 0, 0);
    return canvas;
  };

  const trajectory = {
    open: (view, k) => ({ ...opened(view, k), walls: walls_of(view) }),
    setting: (view) => ({ view, points: { data: [], shape: [0] }, walls: walls_of(view) }),
    frames: ({ points }) => points.shape[0],
    time: ({ view }, frame) => `step ${Math.max(0, Math.round(frame * view.every))}`,
    height: (width) => Math.min(width, 460),
    draw: (context, { width, height }, { view, points: { data, shape }, walls }, frame) => {
      const [x0, x1, y0, y1] = view.bounds;
      const scale = Math.min(width / (x1 - x0), height / (y1 - y0));
      const left = (width - (x1 - x0) * scale) / 2;
      const at = (x, y) => [left + (x - x0) * scale, view.flip_y ? (y - y0) * scale : height - (y - y0) * scale];
      context.drawImage(walls, left, 0, (x1 - x0) * scale, (y1 - y0) * scale);
      const points = Array.from({ length: shape[0] }, (_, i) => at(data[2 * i], data[2 * i + 1]));
      line(context, points, Page.css("--line"), 2);
      line(context, points.slice(0, frame + 1), Page.css("--accent"), 2.5);
      dot(context, at(...view.goal), 6, Page.css("--good"), Page.css("--card"));
      dot(context, at(...view.start), 4, Page.css("--ink"), Page.css("--card"));
      if (points.length) dot(context, points[frame], Math.max(5, view.radius * scale), Page.css("--mark"), Page.css("--card"));
    },
  };

  // What a drawing need not say itself: `open` unpacks the entries of one elite as {data, shape}; there is one frame.
  const usual = { open: opened, frames: () => 1, duration: () => 8, height: (width) => Math.min(width, 340) };

  Page.drawing = { line, dot };
  Page.drawers = { posture, trajectory };
  Page.drawer = (kind) => (Page.drawers[kind] ? { ...usual, ...Page.drawers[kind] } : null);

  // Problems' own scripts. Each runs once, in its own element: a failing one does not affect the others.
  const known = new Set();
  Page.learn_drawings = (scripts = []) => {
    for (const script of scripts.filter((text) => !known.has(text))) {
      known.add(script);
      document.head.append(Page.make("script", {}, script));
    }
  };
}
