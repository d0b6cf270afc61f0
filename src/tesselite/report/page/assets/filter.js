// Which elites are kept: the controls of the filter, how many they keep, and a file of these.
"use strict";
{
  const count = () => {
    const run = Page.run;
    Page.by("selected-count").textContent = run.n_selected.toLocaleString("en");
    Page.by("selected-of").textContent = `of ${run.n.toLocaleString("en")} elites`;
    Page.by("download").disabled = run.n_selected === 0;
    histogram();
    say_until();
    const [low, high] = run.range.map((end, i) => (Number.isFinite(end) ? end : run.fitness_bounds[i])), { text } = run.column("fitness").axis;
    [["low", low], ["high", high]].forEach(([name, end]) => {
      Page.by(`range-${name}`).textContent = text(end);
      Page.by(`filter-${name}`).setAttribute("aria-valuetext", text(end)); // the thumb itself counts thousandths
    });
  };

  // How many elites have which fitness: the selected ones in front of all.
  const BINS = 48, HEIGHT = 44;
  const histogram = () => {
    const run = Page.run, { unit, axis } = run.column("fitness"), canvas = Page.by("histogram");
    const all = new Float64Array(BINS), kept = new Float64Array(BINS);
    for (let row = 0; row < run.n; row++) {
      if (run.later[row]) continue;
      const bin = Math.min(BINS - 1, Math.floor(unit[row] * BINS));
      all[bin]++;
      kept[bin] += run.mask[row];
    }
    const { context, width, height } = Page.fit(canvas, HEIGHT), most = Math.max(1, ...all);
    for (const [counts, colour] of [[all, "--masked"], [kept, "--accent"]]) {
      context.fillStyle = Page.css(colour);
      counts.forEach((count, bin) => { const tall = (count / most) * height; context.fillRect((bin * width) / BINS, height - tall, width / BINS - 1, tall); });
    }
    const top = all.indexOf(most), end = (bin) => axis.text(axis.value(bin / BINS));
    canvas.setAttribute("aria-label", `Histogram of fitness from ${end(0)} to ${end(BINS)}; most elites, ${most.toLocaleString("en")}, lie between ${end(top)} and ${end(top + 1)}.`);
  };

  // The slider over the run's history counts thousandths of the evaluations; its right end is open.
  const last = () => Page.bounds(Page.run.archive.evaluations)[1];
  const say_until = () => {
    const text = Number.isFinite(Page.run.until) ? Page.run.until.toLocaleString("en") : "last";
    Page.by("history-at").textContent = text;
    Page.by("history").setAttribute("aria-valuetext", `evaluation ${text}`);
  };

  const thumbs = () => {
    const { at } = Page.run.column("fitness").axis;
    ["low", "high"].forEach((name, i) => {
      const end = Page.run.range[i];
      Page.by(`filter-${name}`).value = String(Number.isFinite(end) ? Math.max(0, Math.min(1000, 1000 * at(end))) : 1000 * i);
    });
  };

  Page.filter = {
    count,
    draw: histogram,
    open: () => {
      thumbs();
      Page.by("history").value = String(Number.isFinite(Page.run.until) ? (1000 * Page.run.until) / last() : 1000);
    },
    listen: () => {
      for (const name of ["low", "high"]) {
        Page.by(`filter-${name}`).addEventListener("input", () => {
          const run = Page.run, { axis } = run.column("fitness");
          const [a, b] = [+Page.by("filter-low").value, +Page.by("filter-high").value].sort((x, y) => x - y);
          run.range = [a === 0 ? -Infinity : axis.value(a / 1000), b === 1000 ? Infinity : axis.value(b / 1000)];
          run.filter();
        });
      }
      Page.by("history").addEventListener("input", ({ target }) => {
        Page.run.until = +target.value === 1000 ? Infinity : Math.round((+target.value / 1000) * last());
        Page.run.filter();
      });
      Page.by("filter-reset").addEventListener("click", () => {
        Object.assign(Page.run, { range: [-Infinity, Infinity], until: Infinity, query: "" });
        Page.run.brushes.clear();
        Page.by("search").value = "";
        Page.filter.open();
        Page.run.filter();
      });
      Page.by("download").addEventListener("click", () => Page.save("elites.csv", new Blob([Page.run.csv()], { type: "text/csv" })));
    },
  };
}
