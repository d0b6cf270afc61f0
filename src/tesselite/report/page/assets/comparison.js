// Several runs side by side. The numbers were computed in Python; here they are drawn.
"use strict";
{
  const cell = (text, number) => Page.make("td", number ? { class: "number" } : {}, text);
  // The first names are texts; the numbers after them stand right.
  const head = (names, ...texts) => Page.make("thead", {}, Page.make("tr", {}, ...texts.map((text, i) => Page.make("th", i < names ? { scope: "col" } : { scope: "col", class: "number" }, text))));
  const table = (header, rows) => Page.make("div", { class: "wide" }, Page.make("table", {}, header, Page.make("tbody", {}, ...rows)));
  const p_value = (p) => (p < 0.0001 ? "< 0.0001" : Page.number(+p.toPrecision(2)));

  // How the values of a measure are written; what is infinitely bad comes as null.
  const figure_of = ({ values }) => {
    const text = Page.format(...Page.bounds(values));
    return (value) => (value === null ? "failed" : text(value));
  };

  // A colour for each group, for all charts.
  const legend = (groups, runs) => Page.make("p", { class: "legend" }, ...groups.map((group, i) => {
    const mark = Page.make("i");
    const { colour, dash } = Page.colours.style(i);
    if (dash === "solid") mark.style.background = colour;
    else mark.style.border = `2px ${dash === "dash" ? "dashed" : "dotted"} ${colour}`;
    const n = runs.filter((run) => run.group === group).length;
    return Page.make("span", {}, mark, `${group} (${n} ${n === 1 ? "run" : "runs"})`);
  }));

  // Quartiles by NumPy's rule, as in the table below (Plotly's own differ), and the values furthest out within one and a
  // half quartile ranges.
  const box_of = (values) => {
    const sorted = Float64Array.from(values).sort();
    const quantile = (q) => {
      const at = q * (sorted.length - 1), low = sorted[Math.floor(at)];
      return low + (at % 1) * (sorted[Math.ceil(at)] - low);
    };
    const [q1, median, q3] = [0.25, 0.5, 0.75].map(quantile), reach = 1.5 * (q3 - q1);
    const within = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
    const lowerfence = Math.min(q1, ...within), upperfence = Math.max(q3, ...within);
    return Object.fromEntries(Object.entries({ q1, median, q3, lowerfence, upperfence }).map(([name, value]) => [name, [value]]));
  };

  const boxes = (parent, comparison, runs) => comparison.measures.map((measure, m) => {
    const failures = [], figure = figure_of(measure);
    const traces = comparison.groups.map((group, i) => {
      const at = runs.map((run, r) => r).filter((r) => runs[r].group === group && measure.values[r] !== null);
      const n = measure.summaries[i] ? measure.summaries[i][0] : 0; // with those that are infinitely bad
      failures.push(n > at.length ? `${n - at.length} of ${n} failed` : "");
      if (!at.length) return null;
      const values = at.map((r) => measure.values[r]), { colour, symbol } = Page.colours.style(i);
      return {
        type: "box",
        x: [i],
        y: [values],
        ...box_of(values),
        text: [at.map((r) => `${Page.escaped(runs[r].name)}: ${figure(measure.values[r])}`)],
        name: Page.escaped(group),
        marker: { color: colour, symbol, size: 6 },
        line: { width: 1.5 },
        boxpoints: "all",
        jitter: 0.4,
        pointpos: 0,
        hovertemplate: "%{text}<extra></extra>",
      };
    }).filter(Boolean);
    const medians = comparison.groups.map((group, i) => (measure.summaries[i] ? `median ${figure(measure.summaries[i][1])} of ${group}` : "")).filter(Boolean);
    return Page.chart(Page.chart_box(parent, `box-${m}`, measure.label), `${measure.label}: ${medians.join(", ")}.`, traces, {
      xaxis: {
        showgrid: false,
        range: [-0.5, comparison.groups.length - 0.5],
        tickvals: failures.map((_, i) => i),
        ticktext: failures,
        showticklabels: failures.some(Boolean),
      },
      yaxis: { tickformat: Page.tick_format(measure.values, measure.label === "Coverage") },
    });
  });

  const curves = (parent, comparison, runs) => (comparison.quality || []).map((quality, q) => {
    const less = comparison.direction === "min";
    const heading = `Share of elites with fitness ${less ? "up to" : "above"} x, in ${quality.setting} (${less ? "CDF" : "CCDF"})`;
    const traces = runs.map((run, r) => ({
      x: quality.levels,
      y: quality.shares[r],
      type: "scatter",
      mode: "lines",
      name: Page.escaped(run.name),
      line: Page.colours.line(comparison.groups.indexOf(run.group)),
      opacity: runs.length > 6 ? 0.6 : 1,
      hovertemplate: `%{y:.1%} at %{x}<extra>${Page.escaped(run.name)}</extra>`,
    })).filter((_, r) => quality.shares[r]);
    const text = Page.format(...Page.bounds(quality.levels));
    const half = (shares) => (shares ? text(quality.levels[shares.findIndex((share) => (less ? share >= 0.5 : share < 0.5))]) : "nothing");
    const said = `${heading}. Half of the elites reach ${runs.slice(0, 12).map((run, r) => `${half(quality.shares[r])} in ${run.name}`).join(", ")}.`;
    return Page.chart(Page.chart_box(parent, `quality-${q}`, heading, true), said, traces, {
      xaxis: { title: { text: "fitness x", font: { size: 11 }, standoff: 4 }, tickformat: Page.tick_format(quality.levels), hoverformat: Page.tick_format(quality.levels) },
      yaxis: { tickformat: ".0%", rangemode: "tozero" },
    });
  });

  const figures = (comparison) => {
    const rows = comparison.measures.flatMap((measure) => comparison.groups.map((group, i) => {
      const found = measure.summaries[i];
      if (!found) return null;
      const [n, median, lower, upper, from, to] = found, figure = figure_of(measure);
      return Page.make("tr", {}, cell(measure.label), cell(group), cell(String(n), true), cell(figure(median), true),
        cell(`${figure(lower)} to ${figure(upper)}`, true), cell(n > 2 ? `${figure(from)} to ${figure(to)}` : "–", true));
    })).filter(Boolean);
    return table(head(2, "Measure", "Group", "Runs", "Median", "Quartiles", "95 % interval of the median"), rows);
  };

  const tests = (comparison) => table(
    head(3, "Measure", "First", "Second", "Median of first", "Median of second", "p", "p (Holm)", "A12"),
    comparison.tests.map((test) => {
      const figure = figure_of(comparison.measures.find(({ label }) => label === test.measure));
      return Page.make("tr", {}, cell(test.measure), cell(test.first), cell(test.second), ...test.medians.map((median) => cell(figure(median), true)),
        cell(p_value(test.p), true), cell(p_value(test.p_holm), true), cell(`${Page.number(test.a12)} (${test.effect})`, true));
    }),
  );

  Page.comparison = async () => {
    const { comparison, runs } = Page.document;
    Page.by("comparison-card").hidden = !comparison;
    if (!comparison) return;
    const parent = Page.by("comparison");
    // Charts are kept and redrawn; the rest is cheap to rebuild.
    parent.querySelectorAll(".made").forEach((element) => element.remove());
    const made = (element) => { element.classList.add("made"); return element; };
    parent.prepend(made(legend(comparison.groups, runs)));
    const place = (id, tag) => Page.by(id) || parent.appendChild(Page.make(tag, { id, class: "charts" }));
    const jobs = [...boxes(place("boxes", "div"), comparison, runs), ...curves(place("qualities", "div"), comparison, runs)];
    const section = (heading, ...content) => parent.append(made(Page.make("details", { open: "" }, Page.make("summary", {}, heading), ...content)));
    section("Figures of each group", figures(comparison));
    if (comparison.tests.length) section("Tests between groups", tests(comparison), Page.make("p", { class: "hint" }, "Two-sided Mann-Whitney tests over runs; Holm's correction over the whole table. A12 is the chance that a run of the first group has the higher value."));
    if (comparison.notes.length) parent.append(made(Page.make("ul", {}, ...comparison.notes.map((note) => Page.make("li", {}, note)))));
    await Promise.all(jobs);
  };
}
