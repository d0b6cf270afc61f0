// A run's elites: columns to colour by, the filter, and what is selected. Nothing is drawn here.
"use strict";
{
  const VALUES_SHOWN = 200; // of a solution

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
      fitness_bounds: Page.bounds(archive.fitness),
      range: [-Infinity, Infinity], // of fitness; an infinite end is open, for what is found later too
      until: Infinity, // evaluation: elites that were found later are not shown
      later: new Uint8Array(n),
      query: "", // what the table is searched for
      brushes: new Map(), // column -> [low, high] on the unit scale
    };

    run.scenario = (name) => described.scenarios.find((scenario) => scenario.name === name);
    run.phrase = (name) => run.scenario(name).phrase;
    // The column of fitness in the setting that is looked at.
    run.scenario_key = () => {
      const j = described.scenarios.findIndex((scenario) => scenario.name === Page.scenario);
      return j < 0 ? "fitness" : `scenario ${j}`;
    };

    run.solution = (row) => archive.solutions.subarray(row * run.width, (row + 1) * run.width);

    // An axis for each value of a solution: its bounds, or from the least to the largest that an elite has there.
    const of_solutions = (j) => Float64Array.from({ length: n }, (_, row) => archive.solutions[row * run.width + j]);
    run.solution_axes = () => {
      run.kept_axes = run.kept_axes || Array.from({ length: Math.min(run.width, VALUES_SHOWN) }, (_, j) => {
        const about = archive.variables[j];
        const bounded = about && Number.isFinite(about.high - about.low);
        const [low, high] = bounded ? [about.low, about.high] : Page.bounds(of_solutions(j));
        const axis = Page.axis({ low, high, labels: about ? about.labels : [] });
        if (about && about.whole && !about.labels.length) axis.text = (value) => String(value);
        return axis;
      });
      return run.kept_axes;
    };
    run.solution_name = (j) => (archive.variables[j] ? archive.variables[j].name : `x${j}`);

    // What can be shown in colour or along an axis: [key, text].
    run.columns = () => [
      ["fitness", "fitness"],
      ["age", "age (evaluation that found it)"],
      ...(archive.emitters ? [["emitter", "emitter that found it"]] : []),
      ...run.features.map((feature, j) => [`feature ${j}`, feature.title]),
      ...archive.records.map((record, j) => [`record ${j}`, record.name]),
      ...(archive.named ? archive.variables.map((variable, j) => [`variable ${j}`, variable.name]) : []),
      ...described.scenarios.map((scenario, j) => [`scenario ${j}`, `fitness ${scenario.phrase}`]),
    ];

    run.has = (key) => run.columns().some(([known]) => known === key);

    // How much elites differ in each feature, on the unit scale.
    run.variances = () => {
      run.kept_variances = run.kept_variances || run.features.map(({ unit }) => {
        const mean = unit.reduce((sum, value) => sum + value, 0) / n;
        return unit.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
      });
      return run.kept_variances;
    };

    // A column: its values, the axis they lie on, and where along it each is (0 to 1).
    const kept = new Map();
    run.column = (key) => {
      if (!kept.has(key)) kept.set(key, make(key));
      return kept.get(key);
    };
    const measured = (text, values, is_fitness = false, labels = []) => {
      const [low, high] = Page.bounds(values), axis = Page.axis({ low, high, labels });
      return { text, values, is_fitness, axis, unit: Float32Array.from(values, axis.at) };
    };
    const make = (key) => {
      if (key === "fitness") return measured("fitness", archive.fitness, true);
      if (key === "age") return measured("evaluation", archive.evaluations);
      if (key === "emitter") {
        const { names, of } = archive.emitters, axis = Page.axis({ low: 0, high: names.length - 1, labels: names });
        return { text: "emitter", values: of, axis, unit: Float32Array.from(of, axis.at) };
      }
      const j = +key.split(" ")[1];
      if (key.startsWith("feature")) return { text: run.features[j].title, ...run.features[j], axis: Page.axis(run.features[j]) };
      if (key.startsWith("record")) {
        const { name, values, labels } = archive.records[j];
        return measured(name, values, false, labels);
      }
      if (key.startsWith("variable")) {
        const values = of_solutions(j), axis = run.solution_axes()[j];
        return { text: run.solution_name(j), values, axis, unit: Float32Array.from(values, axis.at) };
      }
      if (key.startsWith("scenario")) return measured(`fitness ${described.scenarios[j].phrase}`, described.scenarios[j].fitness, true);
      return measured(`component ${j + 1} (${Page.share(archive.plane_shares[j])} of the variance)`, column(archive.plane, j));
    };
    run.text = (key, row) => { const { axis, values } = run.column(key); return axis.text(values[row]); };

    // The colour of each elite, 0 to 255; better fitness is brighter, so the ramp is reversed where low is good.
    run.shades = (key) => {
      const { values, unit, axis: own, is_fitness } = run.column(key);
      const axis = Page.colour_axis(run, key), units = axis === own ? unit : Float32Array.from(values, axis.at);
      const shades = new Uint8Array(n);
      const missing = new Uint8Array(n);
      for (let row = 0; row < n; row++) {
        if (values[row] === values[row]) shades[row] = Math.max(0, Math.min(255, Math.round(255 * units[row])));
        else missing[row] = 1;
      }
      return { shades, missing, axis, reversed: Boolean(is_fitness) && described.direction === "min" };
    };

    // The best of those that the filter keeps, in the setting that is looked at; -1 if none is valid there.
    run.best = () => {
      const { values } = run.column(run.scenario_key()), sign = described.direction === "max" ? 1 : -1;
      let best = -1;
      for (let row = 0; row < n; row++) {
        if (!run.mask[row] || Number.isNaN(values[row])) continue;
        if (best < 0 || sign * values[row] > sign * values[best]) best = row;
      }
      return best;
    };

    run.filter = () => {
      const [low, high] = run.range;
      const brushes = [...run.brushes].map(([key, ends]) => [run.column(key).unit, ...ends]);
      const asked = Page.query(run, run.query).test;
      run.n_selected = 0;
      for (let row = 0; row < n; row++) {
        run.later[row] = archive.evaluations[row] > run.until ? 1 : 0;
        let kept = !run.later[row] && archive.fitness[row] >= low && archive.fitness[row] <= high;
        kept = kept && asked(row);
        for (const [units, from, to] of brushes) {
          const unit = Math.max(0, Math.min(1, units[row])); // as it is drawn
          kept = kept && unit >= from && unit <= to;
        }
        run.mask[row] = kept ? 1 : 0;
        run.n_selected += run.mask[row];
      }
      if (run === Page.run) Page.tell("filter");
    };

    run.csv = () => {
      // A spreadsheet takes some names for formulas, unless an apostrophe says that they are text.
      const as_text = (name) => (/^[=+\-@\t\r]/.test(name) && Number.isNaN(Number(name)) ? `'${name}` : name);
      const quote = (name) => (/[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
      // Names in use get a prefix, as in `tesselite export`.
      const names = ["niche", "fitness", "evaluation"];
      const enter = (kind, name) => { while (names.includes(name)) name = `${kind} ${name}`; names.push(name); };
      for (const feature of run.features) enter("feature", feature.name);
      for (const record of archive.records) enter("record", record.name);
      for (let j = 0; j < run.width; j++) enter("solution", run.solution_name(j));
      for (const scenario of described.scenarios) enter("scenario", `fitness in ${scenario.name}`);
      const lines = [names.map(as_text).map(quote).join(",")];
      for (let row = 0; row < n; row++) {
        if (!run.mask[row]) continue;
        const cells = [archive.niches[row], archive.fitness[row], archive.evaluations[row]];
        const push = (value, labels) => cells.push(labels.length ? quote(as_text(labels[value])) : value);
        run.features.forEach((feature) => push(feature.values[row], feature.labels));
        archive.records.forEach((record) => push(record.values[row], record.labels));
        run.solution(row).forEach((value, j) => push(value, archive.variables[j] ? archive.variables[j].labels : []));
        cells.push(...described.scenarios.map((s) => (Number.isNaN(s.fitness[row]) ? "" : s.fitness[row])));
        lines.push(cells.join(","));
      }
      return lines.join("\n") + "\n";
    };

    return run;
  };

  Page.select = (row, follow = false) => {
    Page.row = row;
    Page.follow = follow;
    Page.tell("select");
  };

  // Select the best, and follow it during a run.
  Page.select_best = () => { if (Page.run && Page.run.best() >= 0) Page.select(Page.run.best(), true); };

  // The tooltip of an elite (or of an empty niche).
  Page.tip = (event, row, niche) => {
    const tip = Page.by("tip");
    if (row < 0 && niche === undefined) { tip.hidden = true; return; }
    const run = Page.run;
    const lines = [Page.make("b", {}, `Niche ${(row < 0 ? niche : run.archive.niches[row]).toLocaleString("en")}`)];
    const say = (text) => lines.push(Page.make("div", {}, text));
    if (row < 0) say("empty");
    else {
      say(`fitness ${run.text("fitness", row)}`);
      run.features.slice(0, 6).forEach((feature, j) => say(`${feature.title} ${run.text(`feature ${j}`, row)}`));
      run.archive.records.slice(0, 6).forEach((record, j) => say(`${record.name} ${run.text(`record ${j}`, row)}`));
      if (run.features.length > 6) say(`and ${run.features.length - 6} more features`);
      if (Page.scenario) say(`fitness ${run.phrase(Page.scenario)} ${run.text(run.scenario_key(), row)}`);
    }
    Page.fill(tip, ...lines);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(4, event.clientY + 16 + height > window.innerHeight ? event.clientY - height - 12 : event.clientY + 16)}px`;
  };
}
