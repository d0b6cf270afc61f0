// A run's elites: columns to colour by, the filter, and what is selected. Nothing is drawn here.
"use strict";
{
  const bounds = (values) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : [0, 1];
  };

  // Which row a niche has; a plain array where the niches can be counted, a map where there are too many.
  const index = (niches, n_niches) => {
    if (n_niches > 2e7) {
      const map = new Map();
      niches.forEach((niche, row) => map.set(niche, row));
      return (niche) => (map.has(niche) ? map.get(niche) : -1);
    }
    const rows = new Int32Array(n_niches).fill(-1);
    niches.forEach((niche, row) => { rows[niche] = row; });
    return (niche) => rows[niche];
  };

  Page.elites = (described) => {
    const archive = described.archive;
    const n = archive.fitness.length;
    const column = (source, j) => source.subarray(j * n, (j + 1) * n);
    const run = {
      ...described,
      n,
      archive,
      features: archive.features.map((feature, j) => ({ ...feature, values: column(archive.values, j), unit: column(archive.unit, j) })),
      width: archive.solutions.shape[1],
      row_of: index(archive.niches, archive.n_niches),
      mask: new Uint8Array(n).fill(1),
      n_selected: n,
      fitness_bounds: bounds(archive.fitness),
      range: [-Infinity, Infinity], // of fitness; an infinite end is open, for what is found later too
      brushes: new Map(), // feature number -> [low, high] on the unit scale
    };

    run.scenario = (name) => described.scenarios.find((scenario) => scenario.name === name);

    run.solution = (row) => archive.solutions.subarray(row * run.width, (row + 1) * run.width);

    // What can be shown in colour or along an axis: [key, text].
    run.columns = () => [
      ["fitness", "fitness"],
      ["age", "age (evaluation that found it)"],
      ...run.features.map((feature, j) => [`feature ${j}`, feature.name]),
      ...described.scenarios.map((scenario, j) => [`scenario ${j}`, `fitness in ${scenario.name}`]),
    ];

    run.column = (key) => {
      if (key === "fitness") return { text: "fitness", values: archive.fitness, bounds: run.fitness_bounds, is_fitness: true };
      if (key === "age") return { text: "evaluation", values: archive.evaluations, bounds: bounds(archive.evaluations) };
      const j = +key.split(" ")[1];
      if (key.startsWith("feature")) {
        const { name, values, low, high } = run.features[j];
        return { text: name, values, bounds: [low, high] };
      }
      if (key.startsWith("scenario")) {
        const { name, fitness } = described.scenarios[j];
        return { text: `fitness in ${name}`, values: fitness, bounds: bounds(fitness), is_fitness: true };
      }
      const share = archive.plane_shares[j];
      const values = column(archive.plane, j);
      return { text: `component ${j + 1} (${Page.share(share)} of the variance)`, values, bounds: bounds(values) };
    };

    // The colour of each elite, 0 to 255; better fitness is brighter, so the ramp is reversed where low is good.
    run.shades = (key) => {
      const { values, bounds: [low, high], is_fitness } = run.column(key);
      const shades = new Uint8Array(n);
      const scale = high > low ? 255 / (high - low) : 0;
      const missing = new Uint8Array(n);
      for (let row = 0; row < n; row++) {
        const value = values[row];
        if (value === value) shades[row] = Math.max(0, Math.min(255, Math.round((value - low) * scale)));
        else missing[row] = 1;
      }
      return { shades, missing, low, high, reversed: Boolean(is_fitness) && described.direction === "min" };
    };

    run.best = () => {
      let best = -1;
      const sign = described.direction === "max" ? 1 : -1;
      for (let row = 0; row < n; row++) {
        if (best < 0 || sign * archive.fitness[row] > sign * archive.fitness[best]) best = row;
      }
      return best;
    };

    run.filter = () => {
      const [low, high] = run.range;
      run.n_selected = 0;
      for (let row = 0; row < n; row++) {
        let kept = archive.fitness[row] >= low && archive.fitness[row] <= high;
        for (const [j, [from, to]] of run.brushes) {
          const unit = Math.max(0, Math.min(1, run.features[j].unit[row])); // as it is drawn
          kept = kept && unit >= from && unit <= to;
        }
        run.mask[row] = kept ? 1 : 0;
        run.n_selected += run.mask[row];
      }
      Page.tell("filter");
    };

    run.csv = () => {
      // A spreadsheet takes some names for formulas, unless an apostrophe says that they are text.
      const as_text = (name) => (/^[=+\-@\t\r]/.test(name) && Number.isNaN(Number(name)) ? `'${name}` : name);
      const quote = (name) => (/[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
      const names = ["niche", "fitness", "evaluation", ...run.features.map((f) => f.name)];
      for (let j = 0; j < run.width; j++) names.push(`x${j}`);
      for (const scenario of described.scenarios) names.push(`fitness in ${scenario.name}`);
      const lines = [names.map(as_text).map(quote).join(",")];
      for (let row = 0; row < n; row++) {
        if (!run.mask[row]) continue;
        const cells = [archive.niches[row], archive.fitness[row], archive.evaluations[row], ...run.features.map((f) => f.values[row])];
        cells.push(...run.solution(row), ...described.scenarios.map((s) => (Number.isNaN(s.fitness[row]) ? "" : s.fitness[row])));
        lines.push(cells.join(","));
      }
      return lines.join("\n") + "\n";
    };

    return run;
  };

  Page.select = (row) => {
    Page.row = row;
    Page.tell("select");
  };

  // What hovering says of an elite (or of an empty niche).
  Page.tip = (event, row, niche) => {
    const tip = Page.by("tip");
    if (row < 0 && niche === undefined) { tip.hidden = true; return; }
    const run = Page.run;
    const lines = [Page.make("b", {}, `Niche ${(row < 0 ? niche : run.archive.niches[row]).toLocaleString("en")}`)];
    const say = (text) => lines.push(Page.make("div", {}, text));
    if (row < 0) say("empty");
    else {
      say(`fitness ${Page.number(run.archive.fitness[row])}`);
      run.features.slice(0, 6).forEach((feature) => say(`${feature.name} ${Page.number(feature.values[row])}`));
      if (run.features.length > 6) say(`and ${run.features.length - 6} more features`);
      if (Page.scenario) say(`fitness in ${Page.scenario} ${Page.number(run.scenario(Page.scenario).fitness[row])}`);
    }
    Page.fill(tip, ...lines);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(4, event.clientY + 16 + height > window.innerHeight ? event.clientY - height - 12 : event.clientY + 16)}px`;
  };
}
