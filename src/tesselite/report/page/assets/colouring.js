// What colours mean: the column that is shown in colour, the scenario that is looked at, and the bar that explains both.
"use strict";
{
  const bar = () => {
    const { axis, missing, reversed } = Page.run.shades(Page.colour);
    Page.by("colour-low").textContent = axis.text(axis.low);
    Page.by("colour-high").textContent = axis.text(axis.high);
    Page.by("colour-ramp").setAttribute("aria-label", `Colours: ${Page.run.column(Page.colour).text} from ${axis.text(axis.low)} to ${axis.text(axis.high)}`);
    Page.by("colour-missing").hidden = !missing.includes(1);
    Page.by("colour-missing").textContent = Page.run.assessed ? "invalid here, or not assessed" : "invalid here";
    const context = Page.by("colour-ramp").getContext("2d");
    Page.colours.ramp(reversed).names.forEach((name, i) => { context.fillStyle = name; context.fillRect(i, 0, 1, 1); });
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
      Page.options(Page.by("scenario"), [["", "training"], ...run.scenarios.map((s) => [s.name, s.name])], Page.scenario);
    },
    listen: () => {
      Page.by("colour-by").addEventListener("change", (event) => Page.colour_by(event.target.value));
      Page.by("scenario").addEventListener("change", (event) => Page.look_in(event.target.value));
    },
  };
}
