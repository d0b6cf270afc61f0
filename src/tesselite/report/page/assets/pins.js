// Pinned elites: marked in all views, and side by side in a table with their drawings.
"use strict";
{
  const VALUES = 40; // of a solution
  let pinned = []; // numbers of niches: they survive updates of a watched run

  const rows = () => pinned.map((niche) => Page.run.row_of(niche)).filter((row) => row >= 0);

  // [row, colour, number] of each, for those who draw marks; the second colour is too like that of what is selected.
  Page.pins = () => (Page.run ? rows().map((row, i) => [row, Page.colours.style(i + 2).colour, String(i + 1)]) : []);

  const line = (name, cells) => Page.make("tr", {}, Page.make("th", { scope: "row" }, name), ...cells.map((cell) => Page.make("td", { class: "number" }, cell)));

  const drawing = (row) => {
    const canvas = Page.make("canvas", { role: "img", "aria-label": `Drawing of the elite of niche ${Page.run.archive.niches[row]}` });
    const box = Page.make("div", { class: "plot small" }, canvas);
    const found = Page.inspector.kept(row);
    if (!found) return Page.make("span", { class: "hint" }, "not in this page");
    box.redraw = () => {
      const { drawer, opened } = found, size = Page.fit(canvas, drawer.height(box.clientWidth), box.clientWidth);
      drawer.draw(size.context, size, opened, drawer.time ? drawer.frames(opened) - 1 : 0);
    };
    return box;
  };

  const draw = () => {
    const run = Page.run, card = Page.by("pins-card");
    if (!run) return;
    const known = rows(), here = Page.row >= 0 && pinned.includes(run.archive.niches[Page.row]);
    Page.by("pin").textContent = here ? "Unpin" : "Pin";
    Page.by("pin").setAttribute("aria-pressed", String(here));
    card.hidden = !known.length;
    if (!known.length) return;
    const head = Page.make("tr", {}, Page.make("th", { scope: "col" }, ""), ...Page.pins().map(([row, colour, number]) => {
      const mark = Page.make("b", { class: "pin-mark" }, number);
      mark.style.background = colour;
      const go = Page.make("button", { type: "button", class: "plain", "data-row": row }, `Niche ${run.archive.niches[row].toLocaleString("en")}`);
      const off = Page.make("button", { type: "button", class: "plain", "data-off": row, "aria-label": `Unpin niche ${run.archive.niches[row]}` }, "✕");
      return Page.make("th", { scope: "col", class: "number" }, mark, go, off);
    }));
    const drawings = run.kind ? known.map(drawing) : [];
    const axes = run.archive.named ? [] : run.solution_axes().slice(0, VALUES); // with names they are columns
    const lines = [
      ...(drawings.length ? [line("", drawings)] : []),
      ...run.columns().map(([key, text]) => line(key === "age" ? "evaluation" : text, known.map((row) => run.text(key, row)))),
      ...axes.map((axis, j) => line(run.solution_name(j), known.map((row) => axis.text(run.solution(row)[j])))),
    ];
    Page.fill(Page.by("pins-table"), Page.make("thead", {}, head), Page.make("tbody", {}, ...lines));
    Page.by("pins-note").textContent = !run.archive.named && axes.length < run.width ? `The first ${axes.length} of ${run.width} values of each solution are shown.` : "";
    drawings.forEach((box) => box.redraw && box.redraw());
  };

  const toggle = (niche) => {
    pinned = pinned.includes(niche) ? pinned.filter((other) => other !== niche) : [...pinned, niche];
    Page.tell("pins");
  };

  Page.pinned = {
    draw,
    niches: () => pinned,
    set: (niches) => { pinned = niches; Page.tell("pins"); },
    listen: () => {
      Page.by("pin").addEventListener("click", () => { if (Page.row >= 0) toggle(Page.run.archive.niches[Page.row]); });
      Page.by("pins-table").addEventListener("click", ({ target }) => {
        if (target.dataset.row) Page.select(+target.dataset.row);
        else if (target.dataset.off) toggle(Page.run.archive.niches[+target.dataset.off]);
      });
    },
  };
}
