// What pointers, fingers, the wheel and keys do to the map: point, select, zoom, move.
"use strict";
{
  const MOVED = 4; // pixels: less is a click
  const held = new Map(); // pointers that are down, by number

  const middle = () => {
    const points = [...held.values()];
    return { clientX: points.reduce((sum, p) => sum + p.clientX, 0) / points.length, clientY: points.reduce((sum, p) => sum + p.clientY, 0) / points.length };
  };
  const spread = () => {
    const [a, b] = [...held.values()];
    return b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0;
  };

  const point = (event) => {
    const niche = Page.map.niche_at(event);
    Page.tip(event, niche < 0 ? -1 : Page.run.row_of(niche), niche < 0 ? undefined : niche);
    Page.map.hover(niche);
  };

  // One pointer moves a zoomed map, two zoom it around their middle.
  const drag = (event) => {
    const before = Page.map.shares(middle()), apart = spread();
    const old = held.get(event.pointerId);
    held.set(event.pointerId, { clientX: event.clientX, clientY: event.clientY, start: old.start });
    const after = Page.map.shares(middle());
    const [x, y] = old.start;
    if (held.size > 1 || Math.hypot(event.clientX - x, event.clientY - y) > MOVED) moved = true;
    if (held.size === 1 && Page.map.is_whole()) return;
    Page.map.look(apart && spread() ? apart / spread() : 1, after, [before[0] - after[0], before[1] - after[1]], true);
  };
  let moved = false;

  Page.map.listen = () => {
    const canvas = Page.by("map"), { active, look } = Page.map;
    canvas.addEventListener("pointerdown", (event) => {
      if (!active() || event.button > 0) return;
      if (!held.size) moved = false;
      held.set(event.pointerId, { clientX: event.clientX, clientY: event.clientY, start: [event.clientX, event.clientY] });
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!active()) return;
      if (held.has(event.pointerId) && event.buttons & 1) drag(event);
      else point(event);
    });
    const let_go = (event) => held.delete(event.pointerId);
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, let_go);
    canvas.addEventListener("pointerleave", (event) => {
      let_go(event);
      if (!active()) return;
      Page.tip(event, -1);
      Page.map.hover(-1);
    });
    canvas.addEventListener("click", (event) => {
      if (!active() || moved) return;
      const niche = Page.map.niche_at(event), row = niche < 0 ? -1 : Page.run.row_of(niche);
      if (row >= 0) Page.select(row);
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey || !active()) return; // a plain wheel scrolls the page
      event.preventDefault();
      look(event.deltaY < 0 ? 0.8 : 1.25, Page.map.shares(event), [0, 0], true);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (!active()) return;
      if (moves[event.key]) Page.map.step(...moves[event.key]);
      else if (event.key === "+") look(0.5);
      else if (event.key === "-") look(2);
      else if (event.key === "0") Page.map.reset();
      else return;
      event.preventDefault();
    });
    Page.by("zoom-in").addEventListener("click", () => look(0.5));
    Page.by("zoom-out").addEventListener("click", () => look(2));
    Page.by("zoom-all").addEventListener("click", () => Page.map.reset());
  };
}
