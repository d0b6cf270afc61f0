// The hexapod's elites on the interactive page: the robot in three dimensions over a floor, and when its feet touch it.
"use strict";
{
  const { line, dot } = Page.drawing;

  const turned = ([w, x, y, z], [a, b, c]) => {
    const s = [y * c - z * b, z * a - x * c, x * b - y * a].map((v) => 2 * v);
    return [a + w * s[0] + y * s[2] - z * s[1], b + w * s[1] + z * s[0] - x * s[2], c + w * s[2] + x * s[1] - y * s[0]];
  };

  const camera = { yaw: 2.5, pitch: 0.5 }; // looking at its front
  Page.drawers.gait = {
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
}
