// What colours mean: the column that is shown in colour, the scenario that is looked at, and the bar that explains both.
"use strict";
{
  const MOST_NAMES = 12; // labels that are listed below the bar
  const bar = () => {
    const { axis, missing, reversed } = Page.run.shades(Page.colour);
    const { axis: own } = Page.run.column(Page.colour);
    Page.by("colour-low").textContent = `${axis.low > own.low ? "≤ " : ""}${axis.text(axis.low)}`;
    Page.by("colour-high").textContent = `${axis.high < own.high ? "≥ " : ""}${axis.text(axis.high)}`;
    // A logarithm needs values above 0.
    Page.by("colour-log").disabled = own.is_log || (own.low <= 0 && !Page.by("colour-log").checked);
    Page.by("colour-ramp").setAttribute("aria-label", `Colours: ${Page.run.column(Page.colour).text} from ${axis.text(axis.low)} to ${axis.text(axis.high)}`);
    Page.by("colour-missing").hidden = !missing.includes(1);
    Page.by("colour-missing").textContent = Page.run.assessed ? "invalid here, or not assessed" : "invalid here";
    const context = Page.by("colour-ramp").getContext("2d"), { names } = Page.colours.ramp(reversed);
    names.forEach((name, i) => { context.fillStyle = name; context.fillRect(i, 0, 1, 1); });
    // The ends of the bar do not name the colours between them.
    const named = axis.labels.length > 2 && axis.labels.length <= MOST_NAMES ? axis.labels : [];
    Page.by("colour-names").hidden = !named.length;
    Page.by("colour-names").replaceChildren(...named.map((label, code) => {
      const item = document.createElement("span");
      item.textContent = label;
      item.style.setProperty("--colour", names[Math.max(0, Math.min(255, Math.round(255 * axis.at(code))))]);
      return item;
    }));
  };

  // The ends of colours: all values of the column, its middle 90 %, or all that any run and scenario of the page has.
  const middle = (values) => {
    const sorted = Float64Array.from(values.filter((value) => value === value)).sort();
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    return sorted.length ? [at(0.05), at(0.95)] : [0, 1];
  };
  const shared = (run, key) => {
    const { name } = run.column(key), alike = [];
    for (const other of Page.document.runs.filter((one) => one.archive)) {
      if (run.column(key).is_fitness) alike.push(other.archive.fitness, ...other.scenarios.map((s) => s.fitness));
      else if (key === "age") alike.push(other.archive.evaluations);
      else other.archive.features.filter((f) => f.name === name).forEach(({ low, high }) => alike.push([low, high]));
    }
    return Page.bounds(alike.flatMap((values) => Page.bounds(values)));
  };
  Page.colour_axis = (run, key) => {
    const { axis, values } = run.column(key), range = Page.by("colour-range").value;
    const wants_log = Page.by("colour-log").checked;
    if (range === "whole" && !wants_log) return axis;
    let [low, high] = range === "middle" ? middle(values) : range === "shared" ? shared(run, key) : [axis.low, axis.high];
    if (!(high > low)) [low, high] = [axis.low, axis.high];
    const is_log = (wants_log && low > 0) || axis.is_log;
    return Page.axis({ low, high, is_log, table: range === "whole" && !is_log ? axis.table : undefined, labels: axis.labels });
  };

  Page.colour_by = (key) => {
    Page.colour = key;
    Page.by("colour-by").value = key;
    Page.tell("colour");
  };

  // The scenario that is looked at is the colour too, unless another colour was chosen.
  Page.look_in = (scenario) => {
    Page.scenario = scenario;
    Page.by("scenario").value = scenario;
    if (Page.colour === "fitness" || Page.colour.startsWith("scenario")) Page.colour_by(Page.run.scenario_key());
    Page.tell("scenario");
  };

  Page.colouring = {
    draw: bar,
    open: () => {
      const run = Page.run;
      if (!run.has(Page.colour)) Page.colour = run.scenario_key();
      Page.options(Page.by("colour-by"), run.columns(), Page.colour);
      Page.by("scenario-tool").hidden = !run.scenarios.length;
      Page.options(Page.by("scenario"), [["", "training"], ...run.scenarios.map((s) => [s.name, run.phrase(s.name).replace(/^in /, "")])], Page.scenario);
    },
    listen: () => {
      Page.by("colour-by").addEventListener("change", (event) => Page.colour_by(event.target.value));
      for (const id of ["colour-range", "colour-log"]) Page.by(id).addEventListener("change", () => Page.tell("colour"));
      Page.by("scenario").addEventListener("change", (event) => Page.look_in(event.target.value));
    },
  };
}
