// Parallel axes: a line for each elite across the chosen columns. Dragging along an axis keeps what passes there, dragging
// its name moves it.
"use strict";
{
  const MARGIN = { left: 40, right: 40, top: 18 };
  const HEIGHT = 270, NARROW = 60, LEAST = 26; // pixels; below NARROW names are turned, and axes scroll below LEAST
  const AXES = 24, LINES = 3000; // more of either is a carpet
  const plot = { chosen: null, axes: [], box: null, drag: null, marked: "" };

  const evenly = (rows, most) => (rows.length <= most ? rows
    : Array.from({ length: most }, (_, i) => rows[Math.round((i * (rows.length - 1)) / Math.max(1, most - 1))]));

  // The features in which elites differ most, in their own order; beside a map or a single feature fitness, too.
  const usual = (run, most) => {
    const all = run.features.map((_, j) => j);
    const varied = [...all].sort((a, b) => run.variances()[b] - run.variances()[a] || a - b).slice(0, most);
    const keys = all.filter((j) => varied.includes(j)).map((j) => `feature ${j}`);
    return run.features.length < 3 ? [...keys, "fitness"] : keys;
  };

  const most_axes = () => Math.min(AXES, Math.max(2, Math.floor(Page.by("axes-box").clientWidth / 36)));
  const chosen = (run) => plot.chosen || usual(run, most_axes());

  const x_of = (i) => plot.box.left + (plot.axes.length > 1 ? (i / (plot.axes.length - 1)) * plot.box.width : plot.box.width / 2);
  const y_of = (unit) => plot.box.top + (1 - Math.max(0, Math.min(1, unit))) * plot.box.height;
  const room = () => plot.box.width / Math.max(1, plot.axes.length - 1);
  const marked = () => Math.max(0, plot.axes.indexOf(plot.marked));

  const draw_lines = (context, run) => {
    const { shades, missing, reversed } = run.shades(Page.colour);
    const { names } = Page.colours.ramp(reversed);
    const units = plot.axes.map((key) => run.column(key).unit);
    // Of many lines those that the filter keeps come first.
    const all = Array.from({ length: run.n }, (_, row) => row);
    const kept = evenly(all.filter((row) => run.mask[row]), LINES);
    const others = evenly(all.filter((row) => !run.mask[row] && !run.later[row]), LINES - kept.length);
    const line = (row) => {
      context.beginPath();
      let broken = true; // where an elite has no value, its line has a gap
      units.forEach((unit, i) => {
        if (Number.isNaN(unit[row])) { broken = true; return; }
        if (broken) context.moveTo(x_of(i), y_of(unit[row])); else context.lineTo(x_of(i), y_of(unit[row]));
        broken = false;
      });
      context.stroke();
    };
    context.lineWidth = 1;
    context.globalAlpha = 0.15;
    context.strokeStyle = Page.css("--soft");
    for (const row of others) line(row);
    context.globalAlpha = kept.length > 1000 ? 0.35 : 0.6;
    context.strokeStyle = Page.css("--missing");
    for (const row of kept) if (missing[row]) line(row);
    const order = kept.filter((row) => !missing[row]);
    order.sort((a, b) => (reversed ? shades[b] - shades[a] : shades[a] - shades[b]));
    for (const row of order) { context.strokeStyle = names[shades[row]]; line(row); }
    context.globalAlpha = 1;
    context.lineWidth = 3;
    for (const [row, colour] of Page.pins()) { context.strokeStyle = colour; line(row); }
    if (Page.row >= 0) { context.strokeStyle = Page.css("--mark"); line(Page.row); }
    return [kept.length, kept.length + others.length];
  };

  const draw_axis = (context, run, i, text) => {
    const key = plot.axes[i], x = x_of(i), { axis } = run.column(key), brush = run.brushes.get(key);
    const bottom = plot.box.top + plot.box.height, wide = room() > NARROW, last = plot.axes.length - 1;
    const on = i === marked() && document.activeElement === Page.by("axes");
    context.strokeStyle = Page.css(on ? "--accent" : "--soft");
    context.lineWidth = on ? 4 : 1;
    context.beginPath();
    context.moveTo(x, plot.box.top);
    context.lineTo(x, bottom);
    context.stroke();
    if (brush) {
      context.fillStyle = Page.css("--accent");
      context.globalAlpha = 0.35;
      context.fillRect(x - 7, y_of(brush[1]), 14, y_of(brush[0]) - y_of(brush[1]));
      context.globalAlpha = 1;
    }
    context.fillStyle = Page.css(on ? "--accent" : "--soft");
    context.textAlign = "center";
    const ends = [axis.text(axis.low), axis.text(axis.high)];
    if (wide && axis.labels.length) {
      context.textAlign = i === last ? "right" : "left";
      for (const code of axis.ticks()) {
        const label = Page.labels([axis.text(code)], 14)[0], { width } = context.measureText(label), y = y_of(axis.at(code));
        context.fillStyle = Page.css("--card");
        context.fillRect(i === last ? x - 7 - width : x + 3, y - 7, width + 4, 14);
        context.fillStyle = Page.css(on ? "--accent" : "--soft");
        context.fillText(label, i === last ? x - 5 : x + 5, y + 4);
      }
    } else if (wide || ends.every((end) => context.measureText(end).width < room() - 6)) {
      context.fillText(ends[0], x, bottom + 14);
      context.fillText(ends[1], x, plot.box.top - 5);
    }
    if (wide) {
      // The outermost names turn inwards, where there is room.
      context.textAlign = i === 0 ? "left" : i === last ? "right" : "center";
      context.fillText(text, i === 0 ? x - MARGIN.left : i === last ? x + MARGIN.right : x, bottom + 31);
      return;
    }
    context.save();
    context.translate(x + 4, bottom + 22);
    context.rotate(-Math.PI / 2);
    context.textAlign = "right";
    context.fillText(text, 0, 0);
    context.restore();
  };

  const draw = () => {
    const run = Page.run;
    if (!run) return;
    const canvas = Page.by("axes"), context = Page.ruler();
    plot.axes = chosen(run).filter((key) => run.has(key));
    const width = Math.max(Page.by("axes-box").clientWidth, LEAST * plot.axes.length);
    plot.box = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: HEIGHT };
    const texts = Page.labels(plot.axes.map((key) => run.column(key).text), room() > NARROW ? Math.max(4, Math.floor(room() / 7)) : 20);
    const below = room() > NARROW ? 38 : 26 + Math.max(0, ...texts.map((text) => context.measureText(text).width));
    const fitted = Page.fit(canvas, MARGIN.top + HEIGHT + below, width);
    fitted.context.textBaseline = "alphabetic";
    const [kept, lines] = draw_lines(fitted.context, run);
    plot.axes.forEach((_, i) => draw_axis(fitted.context, run, i, texts[i]));
    note(run, lines);
    Object.assign(canvas.dataset, { painted: String(lines), kept: String(kept), marked: String(marked()), axes: plot.axes.join(",") });
  };

  const note = (run, lines) => {
    const features = plot.axes.filter((key) => key.startsWith("feature")).length, said = [];
    const count = (n) => n.toLocaleString("en");
    if (lines < run.n) said.push(`${count(lines)} of ${count(run.n)} elites are drawn, those that pass the filter first.`);
    if (features < run.features.length) said.push(`${features} of ${run.features.length} features are drawn${plot.chosen ? "" : ", those in which elites differ most"}.`);
    Page.by("axes-note").textContent = said.join(" ");
    const key = plot.axes[marked()];
    Page.by("axis-tools").hidden = !key;
    if (key) Page.by("axis-name").textContent = run.column(key).text;
    document.querySelectorAll("#axes-list input").forEach((box) => { box.checked = plot.axes.includes(box.value); });
  };

  const choose = (keys) => {
    plot.chosen = keys;
    draw();
    Page.tell("axes");
  };
  const move = (from, to) => {
    if (to < 0 || to >= plot.axes.length || to === from) return;
    const keys = [...plot.axes];
    keys.splice(to, 0, ...keys.splice(from, 1));
    choose(keys);
  };

  const open = () => {
    const run = Page.run;
    if (plot.chosen && !plot.chosen.every(run.has)) plot.chosen = null;
    Page.fill(Page.by("axes-list"), ...run.columns().map(([key, text]) => Page.make("label", {}, Page.make("input", { type: "checkbox", value: key }), text)));
    draw();
  };

  const place = (event) => {
    const bounds = Page.by("axes").getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const nearest = Math.max(0, Math.min(plot.axes.length - 1, Math.round((x - plot.box.left) / room())));
    return { nearest, near: Math.abs(x_of(nearest) - x) < 14, unit: Math.max(0, Math.min(1, 1 - (y - plot.box.top) / plot.box.height)), below: y > plot.box.top + plot.box.height + 6 };
  };

  const listen_pointer = (canvas) => {
    canvas.addEventListener("pointerdown", (event) => {
      const { nearest, near, unit, below } = place(event);
      if (!near) return;
      plot.marked = plot.axes[nearest];
      plot.drag = { key: plot.marked, below, from: unit, to: unit };
      canvas.setPointerCapture(event.pointerId);
      draw();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!plot.box) return;
      const { nearest, near, unit, below } = place(event);
      canvas.style.cursor = !near ? "default" : below ? "ew-resize" : "ns-resize";
      if (!plot.drag) return;
      if (plot.drag.below) { move(plot.axes.indexOf(plot.drag.key), nearest); return; }
      plot.drag.to = unit;
      Page.run.brushes.set(plot.drag.key, [Math.min(plot.drag.from, unit), Math.max(plot.drag.from, unit)]);
      Page.run.filter();
    });
    const let_go = () => {
      if (plot.drag && !plot.drag.below && Math.abs(plot.drag.from - plot.drag.to) < 0.01) { Page.run.brushes.delete(plot.drag.key); Page.run.filter(); }
      plot.drag = null;
    };
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, let_go);
  };

  // The same without a pointer.
  const listen_keys = (canvas) => canvas.addEventListener("keydown", (event) => {
    if (!Page.run || !plot.axes.length) return;
    if (event.key === "Escape") { Page.run.brushes.clear(); Page.run.filter(); return; }
    const aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key], up = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
    if (!aside && !up) return;
    event.preventDefault();
    if (aside && event.shiftKey) { plot.marked = plot.axes[marked()]; move(marked(), marked() + aside); return; }
    if (aside) {
      plot.marked = plot.axes[Math.max(0, Math.min(plot.axes.length - 1, marked() + aside))];
      draw();
      return;
    }
    const key = plot.axes[marked()], [low] = Page.run.brushes.get(key) || [0.4];
    const next = Math.max(0, Math.min(0.8, low + up));
    Page.run.brushes.set(key, [next, next + 0.2]);
    Page.run.filter();
  });

  Page.axes = {
    draw,
    open,
    chosen: () => plot.chosen,
    choose,
    listen: () => {
      const canvas = Page.by("axes");
      listen_pointer(canvas);
      listen_keys(canvas);
      for (const change of ["focus", "blur"]) canvas.addEventListener(change, draw);
      Page.by("axes-list").addEventListener("change", ({ target }) => {
        choose(target.checked ? [...plot.axes, target.value] : plot.axes.filter((key) => key !== target.value));
      });
      Page.by("axes-usual").addEventListener("click", () => choose(null));
      Page.by("axes-all").addEventListener("click", () => choose(Page.run.columns().map(([key]) => key)));
      const shift = (by) => { plot.marked = plot.axes[marked()]; move(marked(), marked() + by); };
      Page.by("axis-left").addEventListener("click", () => shift(-1));
      Page.by("axis-right").addEventListener("click", () => shift(1));
    },
  };
}
