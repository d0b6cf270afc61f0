// How single elites are drawn: a posture, a trajectory through a maze, a walking robot. What they did comes unpacked.
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
    open: (view, k) => ({ view, points: part(view.points, k) }),
    setting: (view) => ({ view, points: { data: [], shape: [0] } }),
    frames: () => 1,
    height: (width) => Math.min(width, 340),
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

  // -- trajectory: a robot's way through walls --------------------------------------------------------------------------
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
    open: (view, k) => ({ view, points: part(view.points, k), walls: walls_of(view) }),
    setting: (view) => ({ view, points: { data: [], shape: [0] }, walls: walls_of(view) }),
    frames: ({ points }) => points.shape[0],
    time: ({ view }, frame) => `step ${Math.max(0, Math.round(frame * view.every))}`,
    duration: () => 8,
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
    extra: ({ view }, row) => (view.network ? network(view.network, Page.run.solution(row)) : null),
  };

  // The maze's network: what can influence an output, inputs left, outputs right; see networks.py for the encoding.
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

  // -- gait: a robot in three dimensions over a floor, and when its feet touch it ----------------------------------------
  const turned = ([w, x, y, z], [a, b, c]) => {
    const s = [y * c - z * b, z * a - x * c, x * b - y * a].map((v) => 2 * v);
    return [a + w * s[0] + y * s[2] - z * s[1], b + w * s[1] + z * s[0] - x * s[2], c + w * s[2] + x * s[1] - y * s[0]];
  };

  const camera = { yaw: 2.5, pitch: 0.5 }; // looking at its front
  const gait = {
    open: (view, k) => ({ view, base: part(view.base, k), angles: part(view.angles, k), contacts: part(view.contacts, k) }),
    // The robot standing, without the legs that it lacks there.
    setting: (view) => ({
      view,
      base: { data: Float64Array.of(0, 0, view.tibia, 1, 0, 0, 0), shape: [1, 7] },
      angles: { data: new Float64Array(2 * view.legs.length), shape: [1, 2 * view.legs.length] },
      contacts: { data: Uint8Array.of(0), shape: [1] },
    }),
    frames: ({ base }) => base.shape[0],
    time: ({ view }, frame) => `${(frame * view.frame_seconds).toFixed(2)} s`,
    duration: ({ view, base }) => base.shape[0] * view.frame_seconds,
    height: (width) => Math.min(width * 0.78, 330) + 130,
    orbit: (dx, dy) => { camera.yaw += dx * 0.01; camera.pitch = Math.max(0.05, Math.min(1.5, camera.pitch + dy * 0.01)); },
    draw: (context, { width, height }, { view, base, angles, contacts }, frame) => {
      const tall = height - 130;
      const at_frame = ({ data, shape }, i) => data.subarray((i * data.length) / shape[0], ((i + 1) * data.length) / shape[0]);
      const pose = at_frame(base, frame), joints = at_frame(angles, frame);
      const norm = Math.hypot(...pose.subarray(3, 7)) || 1;
      const origin = pose.subarray(0, 3), rotation = Array.from(pose.subarray(3, 7), (v) => v / norm);
      const world = (p) => turned(rotation, p).map((v, i) => v + origin[i]);
      const [sy, cy, sp, cp] = [Math.sin(camera.yaw), Math.cos(camera.yaw), Math.sin(camera.pitch), Math.cos(camera.pitch)];
      const scale = Math.min(width, tall * 1.5) / 0.85;
      const screen = ([x, y, z]) => {
        const a = x - origin[0], b = y - origin[1];
        const across = -sy * a + cy * b, away = cy * a + sy * b;
        const near = 1.9 / (1.9 + away * cp - z * sp);
        return [width / 2 - across * scale * near, tall * 0.62 - (away * sp + z * cp - 0.05) * scale * near, away];
      };
      context.save();
      context.beginPath();
      context.rect(0, 0, width, tall);
      context.clip();
      context.strokeStyle = Page.css("--line");
      context.lineWidth = 1;
      const grid = 0.1, reach = 9, gx = Math.round(origin[0] / grid), gy = Math.round(origin[1] / grid);
      for (let i = -reach; i <= reach; i++) {
        for (const [from, to] of [[[gx + i, gy - reach], [gx + i, gy + reach]], [[gx - reach, gy + i], [gx + reach, gy + i]]]) {
          const strong = (from[0] === to[0] && from[0] === 0);
          context.strokeStyle = strong ? Page.css("--soft") : Page.css("--line");
          context.beginPath();
          context.moveTo(...screen([from[0] * grid, from[1] * grid, 0]));
          context.lineTo(...screen([to[0] * grid, to[1] * grid, 0]));
          context.stroke();
        }
      }
      const trail = Array.from({ length: frame + 1 }, (_, i) => { const p = at_frame(base, i); return screen([p[0], p[1], 0]); });
      line(context, trail, Page.css("--accent"), 2);
      const parts = [];
      const touching = at_frame(contacts, Math.min(contacts.shape[0] - 1, Math.round(frame * view.contact_frames)))[0];
      view.legs.forEach((leg, l) => {
        if (leg.missing) return;
        const psi = leg.yaw + joints[2 * l], q2 = joints[2 * l + 1], s = leg.side, c = Math.cos(psi), n = Math.sin(psi);
        const placed = ([x, y, z]) => world([leg.x + c * x - n * y, leg.y + n * x + c * y, z]);
        const out = view.coxa + view.femur * Math.cos(q2), up = view.femur * Math.sin(q2);
        const points = [[0, 0, 0], [0, s * view.coxa, 0], [0, s * out, up], [view.foot_x, s * out, up - view.tibia]].map(placed);
        const shown = points.map(screen);
        for (let i = 0; i < 3; i++) parts.push({ away: (shown[i][2] + shown[i + 1][2]) / 2, draw: () => line(context, [shown[i], shown[i + 1]], Page.css(i === 2 ? "--soft" : "--ink"), i === 0 ? 7 : i === 1 ? 6 : 4.5) });
        const down = (touching >> l) & 1;
        parts.push({ away: shown[3][2] - 0.01, draw: () => dot(context, shown[3], 6.5, down ? Page.css("--mark") : Page.css("--card"), Page.css("--ink")) });
      });
      const [bx, by, bz] = view.body.map((v) => v / 2);
      const corner = (x, y, z) => screen(world([x * bx, y * by, z * bz]));
      const faces = [
        [[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]],
        [[-1, -1, -1], [1, -1, -1], [1, -1, 1], [-1, -1, 1]], [[-1, 1, -1], [1, 1, -1], [1, 1, 1], [-1, 1, 1]],
        [[-1, -1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]], [[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]],
      ];
      const shades = ["#3f7fb5", "#23455f", "#2f6690", "#2f6690", "#29587c", "#d1762c"]; // the front is orange
      faces.forEach((face, f) => {
        const shown = face.map((p) => corner(...p));
        const area = shown.reduce((sum, [x, y], i) => { const [u, v] = shown[(i + 1) % 4]; return sum + x * v - u * y; }, 0);
        const away = shown.reduce((sum, p) => sum + p[2], 0) / 4;
        if (Math.abs(area) < 1) return;
        parts.push({ away: away - (f === 0 ? 0.02 : 0), draw: () => {
          context.beginPath();
          shown.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
          context.closePath();
          context.fillStyle = shades[f];
          context.fill();
        } });
      });
      parts.sort((a, b) => b.away - a.away).forEach((p) => p.draw());
      context.restore();
      diagram(context, width, tall, view, contacts, frame);
    },
  };

  const diagram = (context, width, top, view, contacts, frame) => {
    const left = 76, right = 8, row = 18, n = contacts.shape[0], step = (width - left - right) / n;
    context.textBaseline = "middle";
    context.textAlign = "right";
    view.legs.forEach((leg, l) => {
      const y = top + 8 + l * row;
      context.fillStyle = Page.css("--soft");
      context.fillText(leg.name, left - 8, y + row / 2 - 2);
      context.fillStyle = Page.css("--card");
      context.fillRect(left, y, width - left - right, row - 5);
      context.fillStyle = leg.missing ? Page.css("--line") : Page.css("--ink");
      for (let i = 0; i < n; i++) {
        if (!leg.missing && !((contacts.data[i] >> l) & 1)) continue;
        let end = i;
        while (end < n && (leg.missing || ((contacts.data[end] >> l) & 1))) end++;
        context.fillRect(left + i * step, y, (end - i) * step, row - 5);
        i = end;
      }
    });
    const x = left + Math.min(n, frame * view.contact_frames) * step;
    line(context, [[x, top + 4], [x, top + 6 + view.legs.length * row]], Page.css("--mark"), 2);
  };

  Page.drawers = { posture, trajectory, gait };
}
