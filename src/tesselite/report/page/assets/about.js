// A run: its state, its figures, its settings, and how to repeat it.
"use strict";
{
  const STATES = { running: "running", finished: "finished", stopped: "stopped before its end", none: "no run yet" };

  Page.state = (state, text) => {
    Page.by("state").dataset.state = state;
    Page.by("state").textContent = text || STATES[state];
  };

  const figure = (value, text) => Page.make("div", { class: "figure" }, Page.make("b", {}, value), Page.make("span", {}, text));

  // Evaluations a second over the last tenth of the time (from its progress), and the seconds that are left at this rate.
  Page.pace = ({ progress: { evaluations, seconds }, budget }) => {
    const last = evaluations.length - 1;
    if (last < 1) return { rate: 0, left: null };
    const from = Math.min(last - 1, seconds.findIndex((at) => at >= 0.9 * seconds[last]));
    const rate = (evaluations[last] - evaluations[from]) / (seconds[last] - seconds[from]);
    return Number.isFinite(rate) && rate > 0 ? { rate, left: Math.round((budget - evaluations[last]) / rate) } : { rate: 0, left: null };
  };

  Page.summary = (run) => {
    const { figures, archive } = run;
    const shown = [];
    if (figures) {
      const fitness = Page.format(...Page.bounds(archive.fitness));
      shown.push(figure(Page.share(figures.coverage), `of ${Page.number(figures.n_niches)} niches filled`));
      shown.push(figure(fitness(figures.best_fitness), `best fitness (${run.direction})`));
      shown.push(figure(fitness(figures.mean_fitness), "mean fitness"));
      if (figures.qd_score !== null) shown.push(figure(Page.number(figures.qd_score), "QD score"));
    }
    const done = Math.max(run.evaluations, ...run.progress.evaluations.slice(-1));
    if (run.budget) shown.push(figure(Page.number(done), done === run.budget ? "evaluations" : `of ${Page.number(run.budget)} evaluations`));
    if (figures) {
      shown.push(figure(Page.number(figures.invalid), "invalid"));
      if (figures.seconds !== null) shown.push(figure(Page.duration(figures.seconds), "of search"));
    }
    if (Page.document.live && run.state === "running") {
      const { rate, left } = Page.pace(run);
      if (rate) shown.push(figure(`${Page.number(+rate.toPrecision(3))} / s`, "evaluations"), figure(Page.duration(left), "left"));
    }
    Page.fill(Page.by("figures"), ...shown);
  };

  Page.about = (run) => {
    Page.by("title").textContent = run.problem;
    const several = Page.document.runs.length > 1;
    Page.by("subtitle").textContent = several ? `${Page.document.runs.length} runs · looking at ${run.name}` : run.seed === null ? "a saved archive" : `${run.name} · seed ${run.seed}`;
    Page.by("command").textContent = run.command;
    Page.by("about-card").classList.toggle("without-run", !run.command);
    const counts = run.figures ? [
      ...run.figures.invalid_reasons.map(([why, n]) => ["Invalid", `${n.toLocaleString("en")} × ${why}`]),
      ["Out of bounds", `${Page.number(run.figures.out_of_bounds)} evaluations, assigned to the nearest niche`],
    ] : [];
    Page.fill(Page.by("settings"), ...[...run.settings, ...counts].map(([name, value]) => Page.make("tr", {}, Page.make("th", { scope: "row" }, name), Page.make("td", {}, value))));
    Page.by("notes-box").hidden = !run.notes.length;
    Page.fill(Page.by("notes"), ...run.notes.map((note) => Page.make("li", {}, note)));
    Page.by("footer").textContent = `Made by tesselite ${Page.document.made_by}. ${Page.document.live ? "Reads the run's folder, writes nothing." : "Everything is in this file; it makes no network requests."}`;
  };

  Page.listen_about = () => {
    Page.by("copy").addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(Page.by("command").textContent); Page.by("copy").textContent = "Copied"; }
      catch { getSelection().selectAllChildren(Page.by("command")); Page.by("copy").textContent = "Press Ctrl+C"; }
      setTimeout(() => { Page.by("copy").textContent = "Copy"; }, 2000);
    });
  };
}
