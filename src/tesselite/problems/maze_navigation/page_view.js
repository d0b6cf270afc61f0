// The maze's elites on the interactive page: the robot's path, and below it the network that drives it.
"use strict";
{
  const { dot } = Page.drawing;

  // What can influence an output, inputs left, outputs right; see networks.py for the encoding.
  const network = (about, solution) => {
    const n_in = about.inputs.length, n_out = about.outputs.length, hidden = solution[0], n = solution[1];
    const sources = 2 + n_out + about.max_hidden, targets = sources + about.max_connections, weights = targets + about.max_connections;
    let connections = Array.from({ length: n }, (_, c) => ({ from: solution[sources + c], to: solution[targets + c], weight: solution[weights + c] / 2 }));
    const live = new Set(Array.from({ length: n_out }, (_, o) => n_in + o));
    for (let size = -1; size !== live.size;) {
      size = live.size;
      for (const { from, to } of connections) if (live.has(to)) live.add(from);
    }
    connections = connections.filter(({ to }) => live.has(to));
    const inner = Array.from({ length: hidden }, (_, h) => n_in + n_out + h).filter((neuron) => live.has(neuron));
    const details = Page.make("details", { open: "" }, Page.make("summary", {}, `Network: ${inner.length} hidden neurons, ${connections.length} connections`));
    const canvas = Page.make("canvas", { role: "img", "aria-label": `network with ${inner.length} hidden neurons and ${connections.length} connections` });
    const box = Page.make("div", { class: "plot" }, canvas);
    details.append(box, Page.make("p", { class: "hint" }, "Blue connections excite, orange ones inhibit; thicker is stronger. Neurons that cannot influence a wheel are left out."));
    const draw = () => {
      const { context, width, height } = Page.fit(canvas, 230);
      const place = new Map();
      about.inputs.forEach((_, i) => place.set(i, [86, 16 + (i * (height - 32)) / (n_in - 1)]));
      about.outputs.forEach((_, o) => place.set(n_in + o, [width - 84, height / 2 + (o - (n_out - 1) / 2) * 70]));
      const columns = Math.max(1, Math.ceil(inner.length / 6));
      inner.forEach((neuron, i) => {
        const column = i % columns, count = Math.ceil((inner.length - column) / columns);
        place.set(neuron, [130 + ((column + 1) * (width - 258)) / (columns + 1), ((Math.floor(i / columns) + 1) * height) / (count + 1)]);
      });
      for (const { from, to, weight } of connections) {
        const [x0, y0] = place.get(from), [x1, y1] = place.get(to);
        context.beginPath();
        if (from === to) context.arc(x0, y0 - 10, 7, 0, 2 * Math.PI);
        else if (Math.abs(x1 - x0) < 5) { context.moveTo(x0, y0); context.quadraticCurveTo(x0 + (y1 > y0 ? 26 : -26), (y0 + y1) / 2, x1, y1); }
        else { context.moveTo(x0, y0); context.bezierCurveTo(x0 + (x1 - x0) * 0.4, y0 - (x1 < x0 ? 25 : 0), x1 - (x1 - x0) * 0.4, y1 - (x1 < x0 ? 25 : 0), x1, y1); }
        context.strokeStyle = Page.colours.style(weight >= 0 ? 0 : 1).colour;
        context.globalAlpha = weight === 0 ? 0.15 : 0.75;
        context.lineWidth = 0.7 + 1.2 * Math.abs(weight);
        context.stroke();
      }
      context.globalAlpha = 1;
      for (const [neuron, p] of place) dot(context, p, 5, neuron >= n_in + n_out ? Page.css("--soft") : Page.css("--ink"), Page.css("--card"));
      context.fillStyle = Page.css("--soft");
      context.textBaseline = "middle";
      context.textAlign = "right";
      about.inputs.forEach((name, i) => context.fillText(name, 76, place.get(i)[1]));
      context.textAlign = "left";
      about.outputs.forEach((name, o) => context.fillText(name, width - 74, place.get(n_in + o)[1]));
    };
    details.redraw = draw;
    details.addEventListener("toggle", draw);
    return details;
  };

  Page.drawers.drive = {
    ...Page.drawers.trajectory,
    extra: ({ view }, row) => network(view.network, Page.run.solution(row)),
  };
}
