// The elites as a table: sorted by any column, searched, or by how near they are to wanted features.
"use strict";
{
  const ROWS = 12;
  const table = { by: "fitness", up: null, first: 0, wanted: null, rows: [] };

  // Columns of the table: [key, text, value of a row, text of a row].
  const columns = (run) => [
    ["niche", "niche", (row) => run.archive.niches[row], (row) => run.archive.niches[row].toLocaleString("en")],
    ...run.columns().map(([key, text]) => {
      const { values } = run.column(key);
      return [key, key === "age" ? "evaluation" : text, (row) => values[row], (row) => run.text(key, row)];
    }),
  ];

  const labels_of = (run, key) => (key === "niche" ? [] : run.column(key).axis.labels);

  // The feature of this name or title; -1 if there is none.
  const feature_named = (run, text) => {
    const like = text.trim().toLowerCase(), by = (key) => run.features.findIndex((feature) => feature[key].toLowerCase() === like);
    return by("title") < 0 ? by("name") : by("title");
  };

  const named = (run, name) => {
    const known = columns(run), like = name.trim().toLowerCase(), j = feature_named(run, name);
    return (j >= 0 && known.find(([key]) => key === `feature ${j}`)) || known.find(([, text]) => text.toLowerCase() === like) || known.find(([, text]) => like && text.toLowerCase().startsWith(like));
  };

  // What stands between commas; those in names and labels do not count.
  const parts_of = (run, text) => {
    if (!text.includes(",")) return [text.trim()].filter(Boolean);
    const known = run.columns().flatMap(([key, title]) => [title, ...labels_of(run, key)]).concat(run.features.map(({ name }) => name));
    const exact = known.filter((name) => name.includes(",")).sort((a, b) => b.length - a.length).map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const parts = text.match(new RegExp(`(?:${[...exact, "[^,]"].join("|")})+`, "gi")) || [];
    return parts.map((part) => part.trim()).filter(Boolean);
  };

  // "speed > 0.5, fitness <= 2, 976": conditions on columns, and numbers of niches. Unknown conditions keep nothing.
  const TESTS = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
  Page.query = (run, text) => {
    const tests = [], wrong = [], niches = new Set();
    for (const term of parts_of(run, text)) {
      const [, name, sign, number] = term.match(/^(.+?)\s*(<=|>=|<|>|=)\s*(-?[\d.]+(?:e[+-]?\d+)?)$/i) || [];
      const column = name && named(run, name);
      const [, label_name, label] = term.match(/^(.+?)\s*=\s*(.+)$/) || [], labelled = label_name && named(run, label_name);
      if (labelled && (!Number.isFinite(+label) || labels_of(run, labelled[0]).includes(label))) tests.push((row) => labelled[3](row).toLowerCase() === label.toLowerCase());
      else if (column && Number.isFinite(+number)) tests.push((row) => TESTS[sign](column[2](row), +number));
      else if (/^(niche\s*)?\d+$/i.test(term)) niches.add(+term.replace(/\D/g, ""));
      else wrong.push(term);
    }
    if (niches.size) tests.push((row) => niches.has(run.archive.niches[row]));
    return { test: (row) => !wrong.length && tests.every((passes) => passes(row)), wrong };
  };

  // The label at the end of "material oak", or of "oak" for feature i: [feature, its number]; null if there is none.
  const label_of = (run, part, i) => {
    for (const [j, { labels }] of run.features.entries()) {
      for (const [code, label] of labels.entries()) {
        if (!part.toLowerCase().endsWith(label.toLowerCase())) continue;
        const before = part.slice(0, part.length - label.length).replace(/[\s=:]*$/, "").toLowerCase();
        if (before ? feature_named(run, before) === j : i === j) return [`feature ${j}`, code];
      }
    }
    return null;
  };

  // "speed 1.2, height 0.3", or values of all features in their order; null if that is not what it says.
  const features_of = (run, text) => {
    const wanted = parts_of(run, text).map((part, i) => {
      const labelled = label_of(run, part, i);
      if (labelled) return labelled;
      const [, name, number] = part.match(/^(.*?)[\s=:]*(-?[\d.]+(?:e[+-]?\d+)?)$/i) || [];
      const j = name ? feature_named(run, name) : i;
      return run.features[j] && Number.isFinite(+number) ? [`feature ${j}`, +number] : null;
    });
    return wanted.length && wanted.every(Boolean) ? wanted : null;
  };

  // How far each elite is from the wanted features, on the unit scale: the shorter way round, and 1 between labels.
  const distance = (run, wanted) => {
    const parts = wanted.map(([key, value]) => {
      const { unit, values, axis, periodic, labels } = run.column(key), at = axis.at(value);
      if (labels.length) return (row) => (values[row] === value ? 0 : 1);
      return (row) => (periodic ? unit[row] - at - Math.round(unit[row] - at) : unit[row] - at);
    });
    return (row) => Math.hypot(...parts.map((gap) => gap(row)));
  };

  const shown_columns = (run) => {
    const known = columns(run);
    if (!table.wanted) return known;
    const far = distance(run, table.wanted);
    return [["distance", "distance", far, (row) => Page.number(far(row))], ...known];
  };

  const sort = (run) => {
    const known = shown_columns(run), [, , value] = known.find(([key]) => key === table.by) || known[1];
    const up = table.up ?? (table.by === "distance" || (table.by !== "fitness" && !table.by.startsWith("scenario")) || run.direction === "min");
    table.rows = Array.from({ length: run.n }, (_, row) => row).filter((row) => run.mask[row]);
    // Missing values come last in either order.
    const keys = Float64Array.from({ length: run.n }, (_, row) => value(row));
    table.rows.sort((a, b) => (Number.isNaN(keys[a]) - Number.isNaN(keys[b])) || (up ? keys[a] - keys[b] : keys[b] - keys[a]) || a - b);
    return up;
  };

  const draw = () => {
    const run = Page.run;
    if (!run) return;
    const up = sort(run), known = shown_columns(run);
    table.first = Math.max(0, Math.min(table.first, Math.floor((table.rows.length - 1) / ROWS) * ROWS));
    const head = known.map(([key, text]) => {
      const on = key === table.by, button = Page.make("button", { type: "button", class: "plain", "data-key": key }, `${text}${on ? (up ? " ▲" : " ▼") : ""}`);
      return Page.make("th", { scope: "col", class: "number", "aria-sort": on ? (up ? "ascending" : "descending") : "none" }, button);
    });
    const rows = table.rows.slice(table.first, table.first + ROWS).map((row) => {
      const cells = known.map(([, , , text], i) => Page.make(i ? "td" : "th", i ? { class: "number" } : { scope: "row", class: "number" }, text(row)));
      return Page.make("tr", { "data-row": row, tabindex: "0", ...(row === Page.row ? { class: "chosen", "aria-selected": "true" } : {}) }, ...cells);
    });
    Page.fill(Page.by("elites-table"), Page.make("thead", {}, Page.make("tr", {}, ...head)), Page.make("tbody", {}, ...rows));
    const { wrong } = Page.query(run, run.query), n = table.rows.length;
    Page.by("search-note").textContent = wrong.length ? `Not understood: ${wrong.join(", ")}` : "";
    Page.by("page-of").textContent = n ? `${(table.first + 1).toLocaleString("en")} to ${Math.min(n, table.first + ROWS).toLocaleString("en")} of ${n.toLocaleString("en")}` : "none";
    Page.by("page-back").disabled = table.first === 0;
    Page.by("page-on").disabled = table.first + ROWS >= n;
  };

  // The middle of the first two features; without the commas of thousands, which would separate.
  const example = (run) => run.features.slice(0, 2).map(({ title }, j) => {
    const { axis } = run.column(`feature ${j}`), middle = axis.value(0.5);
    return `${title} = ${axis.labels.length ? axis.text(middle) : +middle.toPrecision(4)}`;
  }).join(", ");

  const find_nearest = () => {
    const run = Page.run, text = Page.by("nearest").value, wanted = features_of(run, text);
    Page.by("nearest-note").textContent = text.trim() && !wanted ? `Expected values of features, as in ${example(run)}` : "";
    Object.assign(table, { wanted, by: wanted ? "distance" : "fitness", up: null, first: 0 });
    draw();
    if (wanted && table.rows.length) Page.select(table.rows[0]);
  };

  Page.table = {
    draw,
    open: () => {
      const run = Page.run;
      if (table.wanted && !table.wanted.every(([key]) => run.has(key))) table.wanted = null;
      Page.by("nearest").placeholder = example(run);
      Page.by("search").value = run.query;
      draw();
    },
    listen: () => {
      Page.by("search").addEventListener("input", ({ target }) => { Page.run.query = target.value; table.first = 0; Page.run.filter(); });
      Page.by("nearest").addEventListener("change", find_nearest);
      const turn = (by) => { table.first += by; draw(); };
      Page.by("page-back").addEventListener("click", () => turn(-ROWS));
      Page.by("page-on").addEventListener("click", () => turn(ROWS));
      const choose = ({ target }) => {
        const key = target.dataset.key, line = target.closest("tr[data-row]");
        if (key) {
          const flipped = key === table.by ? Page.by("elites-table").querySelector("[aria-sort=descending]") !== null : null;
          Object.assign(table, { by: key, up: flipped, first: 0 });
          draw();
          Page.by("elites-table").querySelector(`[data-key="${key}"]`).focus();
        } else if (line) Page.select(+line.dataset.row);
      };
      Page.by("elites-table").addEventListener("click", choose);
      Page.by("elites-table").addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target.matches("tr[data-row]")) choose(event);
      });
    },
  };
}
