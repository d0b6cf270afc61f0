// Puts the parts together: which run is shown, controls, theme, and the order in which things appear.
"use strict";
{
  const STATES = { running: "running", finished: "finished", stopped: "stopped before its end", none: "no run yet" };
  let chosen = 0;

  Page.state = (state, text) => {
    Page.by("state").dataset.state = state;
    Page.by("state").textContent = text || STATES[state];
  };

  const theme = (name) => {
    document.documentElement.dataset.theme = name;
    Page.tell("theme");
  };

  const figure = (value, text) => Page.make("div", { class: "figure" }, Page.make("b", {}, value), Page.make("span", {}, text));

  const summary = (run) => {
    const { figures, archive } = run;
    const shown = [];
    if (figures) {
      const fitness = Page.format(...Page.bounds(archive.fitness));
      shown.push(figure(Page.share(figures.coverage), `of ${Page.number(figures.n_niches)} niches filled`));
      shown.push(figure(fitness(figures.best), `best fitness (${run.direction})`));
      shown.push(figure(fitness(figures.mean), "mean fitness"));
      if (figures.qd_score !== null) shown.push(figure(Page.number(figures.qd_score), "QD score"));
    }
    const done = Math.max(run.evaluations, ...run.progress.evaluations.slice(-1));
    shown.push(figure(Page.number(done), done === run.budget ? "evaluations" : `of ${Page.number(run.budget)} evaluations`));
    if (figures) {
      shown.push(figure(Page.number(figures.invalid), "invalid"));
      shown.push(figure(Page.duration(figures.seconds), "of search"));
    }
    Page.fill(Page.by("figures"), ...shown);
  };

  const about = (run) => {
    Page.by("title").textContent = run.problem;
    const several = Page.document.runs.length > 1;
    Page.by("subtitle").textContent = several ? `${Page.document.runs.length} runs · looking at ${run.name}` : `${run.name} · seed ${run.seed}`;
    Page.by("command").textContent = run.command;
    const counts = run.figures ? [
      ...run.figures.invalid_reasons.map(([why, n]) => ["Invalid", `${n.toLocaleString("en")} × ${why}`]),
      ["Out of bounds", `${Page.number(run.figures.out_of_bounds)} evaluations, put into the nearest niche`],
    ] : [];
    Page.fill(Page.by("settings"), ...[...run.settings, ...counts].map(([name, value]) => Page.make("tr", {}, Page.make("th", { scope: "row" }, name), Page.make("td", {}, value))));
    Page.by("notes-box").hidden = !run.notes.length;
    Page.fill(Page.by("notes"), ...run.notes.map((note) => Page.make("li", {}, note)));
    Page.by("footer").textContent = `Made by tesselite ${Page.document.made_by}. ${Page.document.live ? "Reads the run's folder, writes nothing." : "Everything is in this file; it loads nothing from anywhere."}`;
  };

  const colour_bar = () => {
    const { axis, missing, reversed } = Page.run.shades(Page.colour);
    Page.by("colour-low").textContent = axis.text(axis.low);
    Page.by("colour-high").textContent = axis.text(axis.high);
    Page.by("colour-missing").hidden = !missing.includes(1);
    Page.by("colour-missing").textContent = Page.run.assessed ? "invalid here, or not assessed" : "invalid here";
    const context = Page.by("colour-ramp").getContext("2d");
    Page.colours.ramp(reversed).names.forEach((name, i) => { context.fillStyle = name; context.fillRect(i, 0, 1, 1); });
  };

  const count = () => {
    const run = Page.run;
    Page.by("selected-count").textContent = run.n_selected.toLocaleString("en");
    Page.by("selected-of").textContent = `of ${run.n.toLocaleString("en")} elites`;
    Page.by("download").disabled = run.n_selected === 0;
    const [low, high] = run.range.map((end, i) => (Number.isFinite(end) ? end : run.fitness_bounds[i])), { text } = run.column("fitness").axis;
    Page.by("range-low").textContent = text(low);
    Page.by("range-high").textContent = text(high);
  };

  const thumbs = () => {
    const { at } = Page.run.column("fitness").axis;
    ["low", "high"].forEach((name, i) => {
      const end = Page.run.range[i];
      Page.by(`filter-${name}`).value = String(Number.isFinite(end) ? Math.max(0, Math.min(1000, 1000 * at(end))) : 1000 * i);
    });
  };

  // Whether what was selected and filtered in one still means the same in the other.
  const alike = (one, other) => ["name", "problem", "seed"].every((key) => one[key] === other[key])
    && one.archive.n_niches === other.archive.n_niches
    && one.features.map((f) => f.name).join("\n") === other.features.map((f) => f.name).join("\n");

  const repaint = () => {
    if (!Page.run) return;
    colour_bar();
    Page.map.repaint();
    Page.scatter.repaint();
    Page.axes.draw();
  };
  const redraw = () => {
    if (!Page.run) return;
    Page.map.draw();
    Page.scatter.draw();
    Page.axes.draw();
    Page.inspector.draw();
  };

  // Show the run that is chosen; what was selected and filtered stays where it still makes sense.
  Page.show = async () => {
    const described = Page.document.runs[chosen] || Page.document.runs[0];
    const message = Page.by("message");
    const note = Page.document.message || (described && !described.archive ? "This run has saved no archive yet: it appears here after the first checkpoint." : "");
    message.hidden = !note;
    message.textContent = note;
    const filled = Boolean(described && described.archive && described.archive.fitness.length);
    for (const id of ["archive", "elite-card", "axes-card"]) Page.by(id).hidden = !filled;
    for (const id of ["about-card", "figures"]) Page.by(id).hidden = !described;
    if (!described) {
      Page.by("progress-card").hidden = true;
      Page.by("title").textContent = "tesselite";
      Page.state("none");
      document.body.dataset.ready = "all";
      return;
    }
    about(described);
    summary(described);
    Page.state(described.state);
    const old = Page.run;
    Page.run = null;
    if (filled) {
      const run = Page.elites(described);
      const kept = Boolean(old) && alike(old, run);
      if (kept) {
        run.range = old.range;
        run.brushes = old.brushes;
      } else Page.follow = true;
      if (!run.scenarios.some((s) => s.name === Page.scenario)) Page.scenario = "";
      run.filter();
      Page.row = Page.follow ? run.best() : run.row_of(old.archive.niches[Page.row]);
      Page.run = run;
      const columns = run.columns();
      if (!columns.some(([key]) => key === Page.colour)) Page.colour = "fitness";
      Page.options(Page.by("colour-by"), columns, Page.colour);
      Page.by("scenario-tool").hidden = !run.scenarios.length;
      Page.options(Page.by("scenario"), [["", "training"], ...run.scenarios.map((s) => [s.name, s.name])], Page.scenario);
      const is_map = Boolean(run.archive.picture);
      Page.by("scatter-axes").hidden = is_map;
      Page.by("zoom").hidden = !is_map;
      Page.by("map").setAttribute("aria-label", is_map
        ? `Map of the archive: ${run.n} elites over ${run.features.map((f) => f.name).join(" and ")}. Arrow keys move from niche to niche.`
        : `Elites as points: ${run.n} of them. Arrow keys move from elite to elite.`);
      thumbs();
      if (is_map) Page.map.open(); else Page.scatter.open();
      Page.axes.open();
      run.filter();
      Page.inspector.refresh();
    }
    document.body.dataset.ready = "archive";
    await new Promise((done) => setTimeout(done)); // let the archive appear before Plotly is unpacked
    await Page.progress();
    await Page.comparison();
    document.body.dataset.ready = "all";
    document.body.dataset.milliseconds = String(Math.round(performance.now()));
  };

  const listen = () => {
    Page.map.listen();
    Page.scatter.listen();
    Page.axes.listen();
    Page.inspector.listen();
    Page.on("filter", () => { count(); repaint(); });
    Page.on("select", redraw);
    Page.on("theme", () => { repaint(); redraw(); Page.inspector.rebuild(); if (Page.document && Page.document.runs.length) { Page.progress(); Page.comparison(); } });
    Page.by("colour-by").addEventListener("change", (event) => { Page.colour = event.target.value; repaint(); });
    // The scenario that is looked at is the colour too, unless another colour was chosen.
    Page.on("scenario", () => {
      const j = Page.run.scenarios.findIndex((s) => s.name === Page.scenario);
      if (Page.colour === "fitness" || Page.colour.startsWith("scenario")) Page.colour = j < 0 ? "fitness" : `scenario ${j}`;
      Page.by("colour-by").value = Page.colour;
      repaint();
    });
    for (const name of ["low", "high"]) {
      Page.by(`filter-${name}`).addEventListener("input", () => {
        const run = Page.run, { axis } = run.column("fitness");
        const [a, b] = [+Page.by("filter-low").value, +Page.by("filter-high").value].sort((x, y) => x - y);
        run.range = [a === 0 ? -Infinity : axis.value(a / 1000), b === 1000 ? Infinity : axis.value(b / 1000)];
        run.filter();
      });
    }
    Page.by("filter-reset").addEventListener("click", () => {
      Page.run.range = [-Infinity, Infinity];
      Page.run.brushes.clear();
      thumbs();
      Page.run.filter();
    });
    Page.by("download").addEventListener("click", () => {
      const link = Page.make("a", { download: `${Page.run.name.replace(/[^\w.-]+/g, "-")}-elites.csv` });
      link.href = URL.createObjectURL(new Blob([Page.run.csv()], { type: "text/csv" }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    Page.by("copy").addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(Page.by("command").textContent); Page.by("copy").textContent = "Copied"; }
      catch { getSelection().selectAllChildren(Page.by("command")); Page.by("copy").textContent = "Press Ctrl+C"; }
      setTimeout(() => { Page.by("copy").textContent = "Copy"; }, 2000);
    });
    Page.by("run-chooser").addEventListener("change", (event) => { chosen = +event.target.value; Page.show(); });
    Page.by("progress-against").addEventListener("change", () => Page.progress());
    Page.by("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
    let waiting = 0;
    new ResizeObserver(() => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); }).observe(document.querySelector("main"));
  };

  const start = async () => {
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const block = await Page.inflate(Page.by("block").textContent);
    Page.document = Page.unpack(JSON.parse(Page.by("document").textContent), block);
    Page.by("block").remove();
    listen();
    const runs = Page.document.runs;
    Page.by("run-tool").hidden = runs.length < 2;
    Page.options(Page.by("run-chooser"), runs.map((run, i) => [String(i), run.name]), "0");
    if (Page.document.live) Page.live();
    await Page.show();
  };

  Page.failed = (error) => {
    Page.by("message").hidden = false;
    Page.by("message").textContent = `This page could not be drawn: ${error.message}`;
    console.error(error);
  };

  start().catch(Page.failed);
}
