// The current view is in the address, so that it survives a reload and can be shared: #niche=976&scenario=14.
"use strict";
{
  const read = () => new URLSearchParams(location.hash.slice(1));

  // The run that the address names, or the first.
  Page.linked_run = () => Math.max(0, Page.document.runs.findIndex((run) => run.name === read().get("run")));

  // Show what the address names, as far as the run has it.
  Page.follow_link = () => {
    const run = Page.run, link = read();
    if (!run || (link.get("run") ?? run.name) !== run.name) return;
    const scenario = link.get("scenario") || "", colour = link.get("colour") || "", niche = link.get("niche");
    if (scenario !== Page.scenario && (!scenario || run.scenario(scenario))) Page.look_in(scenario);
    if (run.has(colour)) Page.colour_by(colour);
    const pins = (link.get("pins") || "").split(".").filter(Boolean).map(Number).filter((pin) => pin < run.archive.n_niches && run.row_of(pin) >= 0);
    if (String(pins) !== String(Page.pinned.niches())) Page.pinned.set(pins);
    const row = niche !== null && /^\d+$/.test(niche) && +niche < run.archive.n_niches ? run.row_of(+niche) : -1;
    if (row >= 0) Page.select(row);
    else if (niche === null && !Page.follow) Page.select_best();
  };

  const write = () => {
    const run = Page.run, link = new URLSearchParams();
    if (!run) return;
    if (Page.document.runs.length > 1) link.set("run", run.name);
    if (!Page.follow && Page.row >= 0) link.set("niche", run.archive.niches[Page.row]);
    if (Page.scenario) link.set("scenario", Page.scenario);
    if (Page.colour !== run.scenario_key()) link.set("colour", Page.colour);
    if (Page.pinned.niches().length) link.set("pins", Page.pinned.niches().join("."));
    const text = String(link);
    if (text !== String(read())) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };

  Page.listen_link = () => {
    for (const event of ["select", "scenario", "colour", "run", "pins"]) Page.on(event, write);
    addEventListener("hashchange", () => {
      if (!read().size || location.hash === "#archive") return; // the skip link
      if (Page.linked_run() !== Page.document.runs.findIndex((run) => Page.run && run.name === Page.run.name)) Page.choose_run(Page.linked_run()).then(Page.follow_link);
      else Page.follow_link();
    });
  };
}
