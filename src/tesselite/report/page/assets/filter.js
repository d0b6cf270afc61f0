// Which elites are kept: the controls of the filter, how many they keep, and a file of these.
"use strict";
{
  const count = () => {
    const run = Page.run;
    Page.by("selected-count").textContent = run.n_selected.toLocaleString("en");
    Page.by("selected-of").textContent = `of ${run.n.toLocaleString("en")} elites`;
    Page.by("download").disabled = run.n_selected === 0;
    const [low, high] = run.range.map((end, i) => (Number.isFinite(end) ? end : run.fitness_bounds[i])), { text } = run.column("fitness").axis;
    [["low", low], ["high", high]].forEach(([name, end]) => {
      Page.by(`range-${name}`).textContent = text(end);
      Page.by(`filter-${name}`).setAttribute("aria-valuetext", text(end)); // the thumb itself counts thousandths
    });
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
    open: thumbs,
    listen: () => {
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
    },
  };
}
