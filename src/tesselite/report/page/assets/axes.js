// Parallel axes: a line for each elite across the features; dragging along an axis keeps what passes there.
"use strict";
{
  const MARGIN = { left: 40, right: 40, top: 14, bottom: 56 };
  const AXES = 24, LINES = 3000; // more of either is a carpet
  const plot = { axes: [], box: null, drag: null, marked: 0 };

  const choose = (n, most) => {
    if (n <= most) return Array.from({ length: n }, (_, i) => i);
    return Array.from({ length: most }, (_, i) => Math.round((i * (n - 1)) / Math.max(1, most - 1)));
  };

  // Names without the words that all begin with, but for the last of these: "leg 0" for "duty factor of leg 0".
  const shortened = (names) => {
    const words = names.map((name) => name.split(" "));
    let same = 0;
    while (names.length > 1 && words.every((w) => w.length > same + 1 && w[same] === words[0][same])) same++;
    return words.map((w) => w.slice(Math.max(0, same - 1)).join(" "));
  };

  const x_of = (i) => plot.box.left + (plot.axes.length > 1 ? (i / (plot.axes.length - 1)) * plot.box.width : plot.box.width / 2);
  const y_of = (unit) => plot.box.top + (1 - Math.max(0, Math.min(1, unit))) * plot.box.height;

  // The axis that the keys act on; on a smaller screen there may be fewer.
  const marked_axis = () => Math.min(plot.marked, plot.axes.length - 1);

  const draw = () => {
    const run = Page.run;
    if (!run || run.archive.picture || run.features.length < 2) return;
    const canvas = Page.by("axes");
    const { context, width, height } = Page.fit(canvas, 320);
    plot.box = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    plot.axes = choose(run.features.length, Math.min(AXES, Math.max(2, Math.floor(width / 36))));
    const { shades, missing, reversed } = run.shades(Page.colour);
    const { names } = Page.colours.ramp(reversed);
    // Of many lines those that the filter keeps come first.
    const all = Array.from({ length: run.n }, (_, row) => row);
    const thin = (rows, most) => choose(rows.length, most).map((i) => rows[i]);
    const kept = thin(all.filter((row) => run.mask[row]), LINES);
    const others = thin(all.filter((row) => !run.mask[row]), LINES - kept.length);
    const n_lines = kept.length + others.length;
    const line = (row) => {
      context.beginPath();
      plot.axes.forEach((j, i) => {
        const y = y_of(run.features[j].unit[row]);
        if (i) context.lineTo(x_of(i), y); else context.moveTo(x_of(i), y);
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
    if (Page.row >= 0) { context.lineWidth = 3; context.strokeStyle = Page.css("--mark"); line(Page.row); context.lineWidth = 1; }
    context.fillStyle = Page.css("--soft");
    context.textBaseline = "alphabetic";
    const texts = shortened(plot.axes.map((j) => run.features[j].name));
    plot.axes.forEach((j, i) => {
      const x = x_of(i), brush = run.brushes.get(j);
      const marked = i === marked_axis() && document.activeElement === canvas;
      context.strokeStyle = Page.css(marked ? "--accent" : "--soft");
      context.lineWidth = marked ? 4 : 1;
      context.beginPath();
      context.moveTo(x, plot.box.top);
      context.lineTo(x, plot.box.top + plot.box.height);
      context.stroke();
      if (brush) {
        context.fillStyle = Page.css("--accent");
        context.globalAlpha = 0.35;
        context.fillRect(x - 7, y_of(brush[1]), 14, y_of(brush[0]) - y_of(brush[1]));
        context.globalAlpha = 1;
        context.fillStyle = Page.css("--soft");
      }
      context.textAlign = "center";
      const room = plot.box.width / Math.max(1, plot.axes.length - 1);
      const text = texts[i];
      if (room > 60) {
        const most = Math.max(3, Math.floor(room / 6.5));
        // The outermost names turn inwards, where there is room.
        context.textAlign = i === 0 ? "left" : i === plot.axes.length - 1 ? "right" : "center";
        const edge = i === 0 ? -MARGIN.left : i === plot.axes.length - 1 ? MARGIN.right : 0;
        context.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x + edge, height - 22);
        context.textAlign = "center";
        context.fillText(Page.number(run.features[j].low), x, height - 38);
        context.fillText(Page.number(run.features[j].high), x, plot.box.top - 4);
      } else {
        context.save();
        context.translate(x + 4, height - 6);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(text.length > 8 ? `${text.slice(0, 7)}…` : text, 0, 0);
        context.restore();
      }
    });
    const thinned = [[n_lines, run.n, "elites, those that the filter keeps first"], [plot.axes.length, run.features.length, "features"]];
    Page.by("axes-note").textContent = thinned.filter(([drawn, of]) => drawn < of)
      .map(([drawn, of, what]) => `Drawn are ${drawn.toLocaleString("en")} of ${of.toLocaleString("en")} ${what}.`).join(" ");
    canvas.dataset.painted = String(n_lines);
    canvas.dataset.kept = String(kept.length);
    canvas.dataset.marked = String(marked_axis());
  };

  const unit_at = (event) => {
    const bounds = Page.by("axes").getBoundingClientRect();
    return Math.max(0, Math.min(1, 1 - (event.clientY - bounds.top - plot.box.top) / plot.box.height));
  };
  const axis_at = (event) => {
    const x = event.clientX - Page.by("axes").getBoundingClientRect().left;
    const i = plot.axes.findIndex((_, k) => Math.abs(x_of(k) - x) < 14);
    return i < 0 ? -1 : plot.axes[i];
  };

  Page.axes = {
    draw,
    listen: () => {
      const canvas = Page.by("axes");
      canvas.addEventListener("pointerdown", (event) => {
        const axis = axis_at(event);
        if (axis < 0) return;
        plot.drag = { axis, from: unit_at(event), to: unit_at(event) };
        plot.marked = plot.axes.indexOf(axis);
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        canvas.style.cursor = plot.box && axis_at(event) >= 0 ? "ns-resize" : "default";
        if (!plot.drag) return;
        plot.drag.to = unit_at(event);
        Page.run.brushes.set(plot.drag.axis, [Math.min(plot.drag.from, plot.drag.to), Math.max(plot.drag.from, plot.drag.to)]);
        Page.run.filter();
      });
      const let_go = () => {
        if (plot.drag && Math.abs(plot.drag.from - plot.drag.to) < 0.01) { Page.run.brushes.delete(plot.drag.axis); Page.run.filter(); }
        plot.drag = null;
      };
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, let_go);
      for (const change of ["focus", "blur"]) canvas.addEventListener(change, draw);
      // The same without a pointer: left and right choose an axis, up and down move a window over it, Escape lets go.
      canvas.addEventListener("keydown", (event) => {
        if (!Page.run || !plot.axes.length) return;
        if (event.key === "Escape") { Page.run.brushes.clear(); Page.run.filter(); return; }
        const aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key], up = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
        if (!aside && !up) return;
        event.preventDefault();
        if (aside) {
          plot.marked = Math.max(0, Math.min(plot.axes.length - 1, marked_axis() + aside));
          draw();
          return;
        }
        const j = plot.axes[marked_axis()];
        const [low] = Page.run.brushes.get(j) || [0.4];
        const next = Math.max(0, Math.min(0.8, low + up));
        Page.run.brushes.set(j, [next, next + 0.2]);
        Page.run.filter();
      });
    },
  };
}
