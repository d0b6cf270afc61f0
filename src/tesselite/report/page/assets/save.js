// Files of what is seen: every canvas and every chart as PNG and SVG.
"use strict";
{
  const SCALE = 2; // of a PNG

  Page.save = (name, blob) => {
    const link = Page.make("a", { download: `${(Page.run || Page.document.runs[0]).name.replace(/[^\w.-]+/g, "-")}-${name}` });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // Draw with our own pen instead of a canvas' context; `Page.fit` returns it.
  const with_pen = (canvas, draw, make) => {
    Page.pen = { canvas, make, used: null };
    try { draw(); return Page.pen.used; } finally { Page.pen = null; draw(); }
  };

  Page.svg_of = (canvas, draw) => with_pen(canvas, draw, (width, height) => new Page.Pen(width, height)).text(Page.css("--card"));

  const png_of = (canvas, draw) => new Promise((done) => {
    const context = with_pen(canvas, draw, (width, height) => {
      const large = Page.make("canvas", { width: Math.round(SCALE * width), height: Math.round(SCALE * height) }), made = large.getContext("2d");
      made.fillStyle = Page.css("--card");
      made.fillRect(0, 0, large.width, large.height);
      made.setTransform(SCALE, 0, 0, SCALE, 0, 0);
      return made;
    });
    context.canvas.toBlob(done, "image/png");
  });

  Page.save_canvas = async (canvas, draw, name, kind) => {
    const blob = kind === "svg" ? new Blob([Page.svg_of(canvas, draw)], { type: "image/svg+xml" }) : await png_of(canvas, draw);
    Page.save(`${name}.${kind}`, blob);
  };

  const save_chart = async (box, name, kind) => {
    const Plotly = await Page.plotly(), { clientWidth: width, clientHeight: height } = box;
    const address = await Plotly.toImage(box, { format: kind, width, height, scale: SCALE });
    // The policy of the page forbids fetching even its own data.
    const [, data] = address.split(/,(.*)/s), is_text = !address.slice(0, 40).includes(";base64");
    const bytes = is_text ? decodeURIComponent(data) : Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    Page.save(`${name}.${kind}`, new Blob([bytes], { type: kind === "svg" ? "image/svg+xml" : "image/png" }));
  };

  // Two small buttons for a view; `save(kind)` writes its file.
  const buttons = (what, save) => Page.make("span", { class: "save", role: "group", "aria-label": `Save ${what}` }, ...["png", "svg"].map((kind) => {
    const button = Page.make("button", { type: "button", class: "plain", "aria-label": `Save ${what} as ${kind.toUpperCase()}` }, kind.toUpperCase());
    button.addEventListener("click", () => save(kind));
    return button;
  }));

  Page.chart_buttons = (box, heading) => buttons(`the chart ${heading}`, (kind) => save_chart(box, box.id, kind));

  Page.add_savers = () => {
    const views = [
      ["archive", "map", "the archive", () => { Page.map.draw(); Page.scatter.draw(); }],
      ["axes-card", "axes", "the parallel axes", () => Page.axes.draw()],
      ["elite-card", "view", "the drawing", () => Page.inspector.draw()],
    ];
    for (const [card, id, what, draw] of views) Page.by(card).querySelector(".card-head").append(buttons(what, (kind) => Page.save_canvas(Page.by(id), draw, id === "map" ? "archive" : id, kind)));
    Page.by("histogram-save").append(buttons("the histogram", (kind) => Page.save_canvas(Page.by("histogram"), Page.filter.draw, "histogram", kind)));
  };
}
