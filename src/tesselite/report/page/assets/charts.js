// Charts by Plotly: progress of one run or of all of them. Plotly is unpacked after the rest of the page.
"use strict";
{
  const PANELS = [["coverage", "Coverage"], ["qd_score", "QD score"], ["best_fitness", "Best fitness"], ["mean_fitness", "Mean fitness of elites"]];
  const DRAWABLE = 1e304; // Plotly takes larger numbers for missing ones
  const RUNS_SAID = 12;
  let ready = null;

  // Plotly reads some markup in texts; what users named must stay text there too.
  Page.escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  Page.plotly = () => {
    ready = ready || Page.inflate(Page.by("plotly").textContent).then((bytes) => {
      const script = document.createElement("script");
      script.textContent = new TextDecoder().decode(bytes);
      document.head.append(script);
      Page.by("plotly").remove();
      return window.Plotly;
    });
    return ready;
  };

  // `said` is the chart in words, for those who cannot see it.
  Page.chart = async (element, said, traces, layout = {}) => {
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", said);
    const Plotly = await Page.plotly();
    const axis = { gridcolor: Page.css("--line"), zeroline: false, linecolor: Page.css("--line"), tickfont: { size: 11 }, automargin: true };
    const { xaxis = {}, yaxis = {}, ...rest } = layout;
    return Plotly.react(element, traces, {
      margin: { l: 44, r: 12, t: 8, b: 34 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: Page.css("--font"), size: 12, color: Page.css("--soft") },
      hoverlabel: { bgcolor: Page.css("--ink"), font: { color: Page.css("--card") }, namelength: -1 },
      showlegend: false,
      width: element.clientWidth || undefined, // Plotly would keep the width that it began with
      height: element.clientHeight || undefined,
      xaxis: { ...axis, ...xaxis },
      yaxis: { ...axis, ...yaxis },
      ...rest,
    }, { displayModeBar: false, responsive: true, doubleClick: "reset" });
  };

  // A box with a heading and a chart in it, made once and found again.
  Page.chart_box = (parent, id, heading, tall = false) => {
    let box = Page.by(id);
    if (!box) {
      box = Page.make("div", { class: tall ? "chart tall" : "chart", id });
      parent.append(Page.make("div", { class: "chart-box" }, Page.make("div", { class: "chart-head" }, Page.make("h3", {}, heading), Page.chart_buttons(box, heading)), box));
    }
    return box;
  };

  // Without data (another run was begun in the watched folder) a chart disappears, with its box.
  const drop = async (id) => {
    const box = Page.by(id);
    if (!box) return;
    (await Page.plotly()).purge(box);
    box.parentElement.remove();
  };

  // Of one run with several emitters: how many of its elites each had found over time.
  const by_emitter = (parent, against) => {
    const run = Page.document.runs.length === 1 && Page.document.runs[0];
    if (!run || !run.archive || !run.archive.emitters || run.progress.evaluations.length < 2) return drop("progress-emitters");
    const { names, of } = run.archive.emitters, at = run.progress.evaluations;
    const counts = names.map(() => new Array(at.length).fill(0));
    const order = Uint32Array.from(of.keys()).sort((a, b) => run.archive.evaluations[a] - run.archive.evaluations[b]);
    let next = 0;
    at.forEach((evaluations, i) => {
      if (i) counts.forEach((row) => { row[i] = row[i - 1]; });
      while (next < order.length && run.archive.evaluations[order[next]] < evaluations) counts[of[order[next++]]][i] += 1;
    });
    const traces = names.map((name, k) => ({
      x: run.progress[against], y: counts[k], type: "scatter", mode: "lines", stackgroup: "elites", name: Page.escaped(name), line: Page.colours.line(k),
      hovertemplate: `%{y:,} elites<extra>${Page.escaped(name)}</extra>`,
    }));
    const said = `Elites by the emitter that found them: ${names.map((name, k) => `${name} ${Page.number(counts[k][at.length - 1])}`).join(", ")}.`;
    return Page.chart(Page.chart_box(parent, "progress-emitters", "Elites by emitter"), said, traces, {
      showlegend: true, legend: { orientation: "h", y: 1.18, font: { size: 11 } }, xaxis: { title: { text: against, font: { size: 11 }, standoff: 4 }, nticks: 5 },
    });
  };

  Page.progress = async () => {
    const against = Page.by("progress-against").value;
    const runs = Page.document.runs.filter((run) => run.progress.evaluations.length);
    Page.by("progress-card").hidden = !runs.length;
    const parent = Page.by("progress");
    const groups = [...new Set(Page.document.runs.map((run) => run.group || run.name))];
    const jobs = [];
    for (const [name, heading] of PANELS) {
      const with_values = runs.filter((run) => run.progress[name].some((value) => value !== null && Math.abs(value) < DRAWABLE));
      if (!with_values.length) { jobs.push(drop(`progress-${name}`)); continue; }
      const box = Page.chart_box(parent, `progress-${name}`, heading);
      const values = with_values.flatMap((run) => run.progress[name]);
      const text = name === "coverage" ? Page.share : Page.format(...Page.bounds(values));
      const traces = with_values.map((run) => ({
        x: run.progress[against],
        y: run.progress[name],
        type: "scatter",
        mode: run.progress[name].length > 1 ? "lines" : "markers",
        name: Page.escaped(run.name),
        opacity: Page.document.runs.length > 6 ? 0.7 : 1,
        line: Page.colours.line(groups.indexOf(run.group || run.name)),
        text: run.progress[name].map(text),
        hovertemplate: `%{text} at %{x:,}<extra>${Page.escaped(runs.length > 1 ? run.name : "")}</extra>`,
      }));
      const course = (run) => {
        const known = run.progress[name].map((value, i) => [value, run.progress[against][i]]).filter(([value]) => value !== null);
        const [[first, from], [last, to]] = [known[0], known[known.length - 1]];
        return `${runs.length > 1 ? `${run.name} ` : ""}from ${text(first)} at ${Page.number(from)} to ${text(last)} at ${Page.number(to)}`;
      };
      const said = `${heading} against ${against}: ${with_values.slice(0, RUNS_SAID).map(course).join("; ")}${with_values.length > RUNS_SAID ? "; and more runs" : ""}.`;
      jobs.push(Page.chart(box, said, traces, { xaxis: { title: { text: against, font: { size: 11 }, standoff: 4 }, nticks: 5 }, yaxis: { tickformat: Page.tick_format(values, name === "coverage") } }));
    }
    jobs.push(by_emitter(parent, against));
    await Promise.all(jobs);
  };
}
