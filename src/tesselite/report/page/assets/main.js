// Puts the parts together: which run is shown, and the order in which things appear.
"use strict";
{
  let chosen = 0;

  // Whether selections and filters of one are valid for the other.
  const alike = (one, other) => ["name", "problem", "seed"].every((key) => one[key] === other[key])
    && one.archive.n_niches === other.archive.n_niches
    && one.features.map((f) => f.name).join("\n") === other.features.map((f) => f.name).join("\n");

  const repaint = () => {
    if (!Page.run) return;
    Page.colouring.draw();
    Page.map.repaint();
    Page.scatter.repaint();
    Page.axes.draw();
  };
  const redraw = () => {
    if (!Page.run) return;
    Page.map.draw();
    Page.scatter.draw();
    Page.axes.draw();
    Page.filter.draw();
    Page.inspector.draw();
  };

  // Show the run that is chosen; selections and filters stay where they are still valid.
  Page.show = async () => {
    Page.learn_drawings(Page.document.drawings);
    const described = Page.document.runs[chosen] || Page.document.runs[0];
    const message = Page.by("message");
    const note = Page.document.message || (described && !described.archive ? "This run has saved no archive yet: it appears here after the first checkpoint." : "");
    message.hidden = !note;
    message.textContent = note;
    const filled = Boolean(described && described.archive && described.archive.fitness.length);
    for (const id of ["archive", "elite-card", "axes-card", "table-card"]) Page.by(id).hidden = !filled;
    for (const id of ["about-card", "figures"]) Page.by(id).hidden = !described;
    if (!described) {
      Page.by("progress-card").hidden = true;
      Page.by("growth-card").hidden = true;
      Page.by("title").textContent = "tesselite";
      Page.state("none");
      document.body.dataset.ready = "all";
      return;
    }
    Page.about(described);
    Page.summary(described);
    Page.state(described.state);
    const old = Page.run;
    Page.run = null;
    if (filled) {
      const run = Page.elites(described);
      const kept = Boolean(old) && alike(old, run);
      if (!kept && old) Page.pinned.set([]);
      if (kept) {
        for (const name of ["range", "brushes", "until", "query"]) run[name] = old[name];
      } else Page.follow = true;
      if (!run.scenarios.some((s) => s.name === Page.scenario)) Page.scenario = "";
      run.filter();
      Page.row = Page.follow ? run.best() : run.row_of(old.archive.niches[Page.row]);
      Page.run = run;
      Page.colouring.open();
      const is_map = Boolean(run.archive.cells);
      Page.by("scatter-axes").hidden = is_map;
      Page.by("zoom").hidden = !is_map;
      Page.by("map").setAttribute("aria-label", is_map
        ? `Map of the archive: ${run.n} elites over ${run.features.map((f) => f.title).join(" and ")}. Arrow keys move from niche to niche.`
        : `Elites as points: ${run.n} of them. Arrow keys move from elite to elite.`);
      Page.filter.open();
      if (is_map) Page.map.open(); else Page.scatter.open();
      Page.axes.open();
      Page.table.open();
      run.filter();
      Page.inspector.refresh();
      if (!old) Page.follow_link();
      Page.tell("run");
    }
    document.body.dataset.ready = "archive";
    await new Promise((done) => setTimeout(done)); // let the archive appear before Plotly is unpacked
    await Page.progress();
    await Page.growth(described);
    await Page.comparison();
    document.body.dataset.ready = "all";
    document.body.dataset.milliseconds = String(Math.round(performance.now()));
  };

  Page.choose_run = (i) => {
    chosen = i;
    Page.by("run-chooser").value = String(i);
    return Page.show();
  };

  const listen = () => {
    Page.map.listen();
    Page.scatter.listen();
    Page.axes.listen();
    Page.inspector.listen();
    Page.colouring.listen();
    Page.table.listen();
    Page.pinned.listen();
    Page.add_savers();
    Page.filter.listen();
    Page.listen_about();
    Page.listen_link();
    Page.on("filter", () => { Page.filter.count(); repaint(); Page.table.draw(); });
    for (const event of ["select", "scenario", "pins", "run"]) Page.on(event, Page.pinned.draw);
    for (const event of ["select", "run"]) Page.on(event, Page.table.draw);
    Page.on("pins", redraw);
    Page.on("colour", repaint);
    Page.on("select", redraw);
    Page.on("theme", () => { repaint(); redraw(); Page.inspector.rebuild(); if (Page.document.runs.length) { Page.progress(); Page.growth(); Page.comparison(); } });
    Page.by("run-chooser").addEventListener("change", (event) => Page.choose_run(+event.target.value));
    Page.by("progress-against").addEventListener("change", () => Page.progress());
    let waiting = 0;
    new ResizeObserver(() => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); }).observe(document.querySelector("main"));
  };

  const start = async () => {
    Page.theme();
    const block = await Page.inflate(Page.by("block").textContent);
    Page.document = Page.unpack(JSON.parse(Page.by("document").textContent), block);
    Page.by("block").remove();
    listen();
    const runs = Page.document.runs;
    Page.by("run-tool").hidden = runs.length < 2;
    Page.options(Page.by("run-chooser"), runs.map((run, i) => [String(i), run.name]), "0");
    if (Page.document.live) Page.live();
    await Page.choose_run(Page.linked_run());
  };

  Page.failed = (error) => {
    Page.by("message").hidden = false;
    Page.by("message").textContent = `This page could not be drawn: ${error.message}`;
    console.error(error);
  };

  start().catch(Page.failed);
}
