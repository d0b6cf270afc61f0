// Elites as points, for archives without a map: any two of fitness, features and principal components.
"use strict";
{
  const MARGIN = { right: 18, top: 8, bottom: 40 };
  const PAD = 0.02; // on either side, so that no point lies on the edge
  const plot = { x: "plane 0", y: "plane 1", points: null, box: null, hover: -1 };

  const columns = () => {
    const run = Page.run;
    const shown = [["plane 0", "component 1"], ["plane 1", "component 2"]];
    return run.features.length > 1 ? [...shown, ...run.columns()] : run.columns();
  };

  const open = () => {
    const few = Page.run.features.length === 1;
    const keys = columns().map(([key]) => key);
    if (few) { plot.x = "feature 0"; plot.y = "fitness"; }
    if (!keys.includes(plot.x)) plot.x = keys[0];
    if (!keys.includes(plot.y)) plot.y = keys[1];
    Page.options(Page.by("scatter-x"), columns(), plot.x);
    Page.options(Page.by("scatter-y"), columns(), plot.y);
    plot.hover = -1;
  };

  const draw = () => {
    const run = Page.run;
    if (!run || run.archive.cells) return;
    const canvas = Page.by("map");
    const { context, width, height } = Page.fit(canvas, Math.max(300, Math.min(560, window.innerHeight - 330)));
    const [x, y] = [plot.x, plot.y].map((key) => ({ ...run.column(key), from: -PAD, to: 1 + PAD }));
    const left = Page.frame.margin(context, y);
    const box = { left, top: MARGIN.top, width: width - left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    // What lies beyond the bounds of a feature is drawn at their end.
    const inside = (unit) => (Math.max(0, Math.min(1, unit)) + PAD) / (1 + 2 * PAD);
    const px = x.unit.map((unit) => box.left + inside(unit) * box.width);
    const py = y.unit.map((unit) => box.top + (1 - inside(unit)) * box.height);
    Object.assign(plot, { points: [px, py], box });
    context.fillStyle = Page.css("--faint");
    context.fillRect(box.left, box.top, box.width, box.height);
    const { shades, missing, reversed } = run.shades(Page.colour);
    const { names } = Page.colours.ramp(reversed);
    const size = run.n > 30000 ? 2 : run.n > 5000 ? 3 : 4.5;
    const groups = Array.from({ length: 256 }, () => []);
    const masked = [], absent = [];
    for (let row = 0; row < run.n; row++) if (!run.later[row]) (!run.mask[row] ? masked : missing[row] ? absent : groups[shades[row]]).push(row);
    const dots = (rows, colour) => {
      context.fillStyle = colour;
      for (const row of rows) context.fillRect(px[row] - size / 2, py[row] - size / 2, size, size);
    };
    dots(masked, Page.css("--masked"));
    dots(absent, Page.css("--missing"));
    // The best are drawn last and lie on top.
    const order = reversed ? groups.map((_, i) => 255 - i) : groups.map((_, i) => i);
    for (const shade of order) dots(groups[shade], names[shade]);
    for (const [row, colour] of [[plot.hover, Page.css("--ink")], [Page.row, Page.css("--mark")]]) {
      if (row < 0) continue;
      context.beginPath();
      context.arc(px[row], py[row], 8, 0, 2 * Math.PI);
      context.lineWidth = 2.5;
      context.strokeStyle = colour;
      context.stroke();
    }
    context.lineWidth = 1;
    for (const [row, colour, number] of Page.pins()) if (px[row] === px[row] && py[row] === py[row]) Page.mark(context, px[row], py[row], colour, number);
    Page.frame.draw(context, box, x, y);
    canvas.dataset.painted = String(run.n);
  };

  const nearest = (event) => {
    const bounds = Page.by("map").getBoundingClientRect();
    const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const [px, py] = plot.points;
    let best = 144, row = -1; // within 12 pixels
    for (let i = 0; i < px.length; i++) {
      const distance = (px[i] - x) ** 2 + (py[i] - y) ** 2;
      if (distance < best && Page.run.mask[i]) { best = distance; row = i; }
    }
    return row;
  };

  // The nearest kept elite within a quarter turn of the direction.
  const step = (dx, dy) => {
    if (Page.row < 0) { Page.select_best(); return; }
    const [px, py] = plot.points;
    let best = Infinity, row = -1;
    for (let i = 0; i < px.length; i++) {
      const x = px[i] - px[Page.row], y = py[i] - py[Page.row];
      const ahead = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
      if (i !== Page.row && ahead > 0 && aside <= ahead && ahead + aside < best && Page.run.mask[i]) { best = ahead + aside; row = i; }
    }
    if (row >= 0) Page.select(row);
  };

  Page.scatter = {
    draw,
    open: () => { open(); draw(); },
    repaint: draw,
    locate: (row) => {
      const bounds = Page.by("map").getBoundingClientRect();
      return [bounds.left + plot.points[0][row], bounds.top + plot.points[1][row]];
    },
    listen: () => {
      const canvas = Page.by("map");
      const active = () => Page.run && !Page.run.archive.cells && plot.points;
      canvas.addEventListener("pointermove", (event) => {
        if (!active()) return;
        const row = nearest(event);
        Page.tip(event, row);
        if (row !== plot.hover) { plot.hover = row; draw(); }
      });
      canvas.addEventListener("pointerleave", () => { if (active() && plot.hover >= 0) { plot.hover = -1; draw(); } });
      canvas.addEventListener("click", (event) => {
        if (!active()) return;
        const row = nearest(event);
        if (row >= 0) Page.select(row);
      });
      canvas.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
        if (!active() || !moves[event.key]) return;
        step(...moves[event.key]);
        event.preventDefault();
      });
      for (const name of ["x", "y"]) {
        Page.by(`scatter-${name}`).addEventListener("change", (event) => { plot[name] = event.target.value; draw(); });
      }
    },
  };
}
