// The elite that is looked at: its numbers, its drawing, its scenarios, and the player.
"use strict";
{
  const show = { drawer: null, opened: null, frame: 0, playing: false, began: 0, from: 0, extra: null, elite: "" };

  const bar = (name, text, share, from = 0, on = false) => {
    const fill = Page.make("i");
    const a = Math.max(0, Math.min(1, Math.min(share, from))), b = Math.max(0, Math.min(1, Math.max(share, from)));
    fill.style.left = `${100 * a}%`;
    fill.style.width = `${100 * (b - a)}%`;
    return [
      Page.make("span", { class: on ? "name on" : "name", title: name }, name),
      Page.make("span", { class: "track" }, fill),
      Page.make("span", { class: "value" }, text),
    ];
  };

  // Why an elite has no fitness in a scenario: of large archives only a part is assessed.
  const absent = (row) => (Page.run.assessed && !Page.run.assessed[row] ? "not assessed" : "invalid");

  const numbers = () => {
    const run = Page.run, row = Page.row;
    const shown = [["Fitness", run.text("fitness", row)]];
    if (Page.scenario) {
      const there = run.scenario(Page.scenario).fitness[row];
      shown.push([run.phrase(Page.scenario), Number.isNaN(there) ? absent(row) : run.text(run.scenario_key(), row)]);
    }
    if (run.features.length <= 4) run.features.forEach((f, j) => shown.push([f.title, run.text(`feature ${j}`, row)]));
    run.archive.records.slice(0, 8).forEach((record, j) => shown.push([record.name, run.text(`record ${j}`, row)]));
    shown.push(["Evaluation", Page.number(run.archive.evaluations[row])]);
    if (run.archive.emitters) shown.push(["Found by", run.text("emitter", row)]);
    Page.fill(Page.by("elite-numbers"), ...shown.map(([name, text]) => Page.make("div", {}, Page.make("dt", {}, name), Page.make("dd", {}, text))));
  };

  const lists = () => {
    const run = Page.run, row = Page.row;
    const put = (id, bars) => Page.fill(Page.by(id).querySelector(".bars"), ...bars.flat());
    put("elite-features", run.features.map((f, j) => bar(f.title, run.text(`feature ${j}`, row), f.unit[row])));
    const solution = run.solution(row), axes = run.solution_axes();
    // From 0 where a value can have either sign.
    put("elite-solution", axes.map((axis, j) => bar(run.solution_name(j), axis.text(solution[j]), axis.at(solution[j]), axis.at(Math.max(axis.low, Math.min(axis.high, 0))))));
    Page.by("elite-solution").querySelector("summary").textContent = `Solution (${axes.length < solution.length ? `first ${axes.length} of ` : ""}${solution.length} values)`;
    const box = Page.by("elite-scenarios");
    box.hidden = !run.scenarios.length;
    if (!run.scenarios.length) return;
    const settings = [["training", run.archive.fitness[row], Page.scenario === ""], ...run.scenarios.map((s) => [run.phrase(s.name).replace(/^in /, ""), s.fitness[row], s.name === Page.scenario])];
    const [low, high] = Page.bounds(settings.map(([, value]) => value)), axis = Page.axis({ low, high });
    put("elite-scenarios", settings.map(([name, value, on]) => (
      Number.isNaN(value) ? bar(name, absent(row), 0, 0, on) : bar(name, axis.text(value), 0.04 + 0.96 * axis.at(value), 0, on))));
  };

  const frames = () => (show.drawer ? show.drawer.frames(show.opened) : 1);

  const draw = () => {
    if (!show.drawer || Page.by("elite-body").hidden) return;
    const canvas = Page.by("view");
    const box = canvas.parentElement.clientWidth - 16;
    const size = Page.fit(canvas, show.drawer.height(box));
    show.drawer.draw(size.context, size, show.opened, show.frame);
    canvas.dataset.frame = String(show.frame);
    Page.by("frame").value = String(show.frame);
    const time = show.drawer.time ? show.drawer.time(show.opened, show.frame) : "";
    Page.by("frame-time").textContent = time;
    Page.by("frame").setAttribute("aria-valuetext", time);
  };

  const stop = () => {
    show.playing = false;
    Page.by("play").textContent = "Play";
    Page.by("play").setAttribute("aria-pressed", "false");
  };

  const tick = (now) => {
    if (!show.playing) return;
    const per_frame = (1000 * show.drawer.duration(show.opened)) / frames();
    const frame = show.from + Math.floor((now - show.began) / per_frame);
    if (frame >= frames() - 1) { show.frame = frames() - 1; stop(); draw(); return; }
    if (frame !== show.frame && frame >= 0) { show.frame = frame; draw(); }
    requestAnimationFrame(tick);
  };

  const play = () => {
    if (show.playing) { stop(); return; }
    if (show.frame >= frames() - 1) show.frame = 0;
    Object.assign(show, { playing: true, began: performance.now(), from: show.frame });
    Page.by("play").textContent = "Pause";
    Page.by("play").setAttribute("aria-pressed", "true");
    requestAnimationFrame(tick);
  };

  // The view of an elite in a setting: kept in the page, or requested from its server.
  const in_page = (run, row, scenario) => {
    for (const view of run.views || []) {
      if ((view.scenario || "") !== scenario) continue;
      const k = view.rows.indexOf(row);
      if (k >= 0) return [view, k];
    }
    return null;
  };
  const find = async (run, row, scenario) => {
    const found = in_page(run, row, scenario);
    if (found) return found;
    if (!Page.ask_view || !run.kind) return null;
    // What was drawn before belongs to another elite or setting: it must not stay while this one is computed.
    Page.by("view").hidden = true;
    Page.by("player").hidden = true;
    Page.by("view-best").hidden = true;
    Page.by("view-note").hidden = false;
    Page.by("view-note").textContent = "Computing what this elite does…";
    return Page.ask_view(run, row, scenario).catch(() => null);
  };

  const why_not = (scenario) => {
    if (Page.ask_view) return "The behaviour of this elite cannot be shown.";
    return scenario
      ? `The scenario (${Page.run.phrase(scenario).replace(/^in /, "")}) without the elite: the page stores only what the best elites do there.`
      : "To keep the page small, this elite's view was left out; its neighbours may have one.";
  };

  // What a scenario looks like without an elite, where the page shows another one in it; null if that cannot be drawn.
  const setting = (run, scenario) => {
    const view = (run.views || []).find((one) => (one.scenario || "") === scenario);
    const drawer = view && Page.drawer(view.kind);
    return drawer && drawer.setting ? { drawer, opened: drawer.setting(view) } : null;
  };

  // Identifies an elite in a setting; its row may change during a run.
  const identity = () => {
    const { name, seed, archive } = Page.run;
    return JSON.stringify([name, seed, archive.niches[Page.row], archive.evaluations[Page.row], archive.fitness[Page.row], Page.scenario]);
  };

  const view = async () => {
    const scenario = Page.scenario, elite = identity();
    show.elite = elite;
    const found = await find(Page.run, Page.row, scenario);
    if (elite !== show.elite || !Page.run) return; // something else was chosen meanwhile
    if (!found && Page.run.kind) show.elite = ""; // ask again at the next update
    const run = Page.run, row = Page.row;
    const note = Page.by("view-note"), canvas = Page.by("view");
    Object.assign(show, { drawer: null, opened: null, frame: 0 }, found ? { drawer: Page.drawer(found[0].kind) } : setting(run, scenario));
    if (found && show.drawer) show.opened = show.drawer.open(...found);
    canvas.hidden = !show.drawer;
    const has_views = Boolean(run.kind);
    Page.by("elite-view").hidden = !has_views;
    note.hidden = Boolean(found && show.drawer);
    note.textContent = found ? `The problem has no drawing of the kind "${found[0].kind}".` : why_not(scenario);
    Page.by("view-best").hidden = note.hidden || run.best() < 0 || run.best() === row;
    Page.by("view-best").textContent = scenario ? `Show the best ${run.phrase(scenario)}` : "Show the best";
    Page.by("player").hidden = !show.drawer || frames() < 2;
    Page.by("frame").max = String(frames() - 1);
    if (show.drawer && show.drawer.time) show.frame = Math.max(0, frames() - 1); // begin with the full history
    canvas.setAttribute("aria-label", found ? `${found[0].kind} of the elite of niche ${run.archive.niches[row]}` : `scenario ${scenario}`);
    show.extra = found && show.drawer && show.drawer.extra ? show.drawer.extra(show.opened, row) : null;
    Page.fill(Page.by("elite-extra"), ...(show.extra ? [show.extra] : []));
    if (show.extra) show.extra.redraw();
    // A solution without a drawing is shown as bars.
    if (!has_views) Page.by("elite-solution").open = true;
    draw();
  };

  const refresh = () => {
    const chosen = Page.row >= 0;
    Page.by("elite-body").hidden = !chosen;
    Page.by("elite-best").textContent = `${Page.ask_view && Page.follow ? "Following" : "Show"} the best${Page.scenario ? ` ${Page.run.phrase(Page.scenario)}` : ""}`;
    Page.by("elite-title").textContent = chosen ? `Elite of niche ${Page.run.archive.niches[Page.row].toLocaleString("en")}` : "Elite";
    if (!chosen) return;
    numbers();
    lists();
    Page.by("elite-said").textContent = `${Page.by("elite-title").textContent}, fitness ${Page.run.text(Page.run.scenario_key(), Page.row)}`;
    if (identity() === show.elite) return; // the view goes on, playing or not
    stop();
    view();
  };

  const update = () => {
    show.elite = "";
    refresh();
  };

  Page.inspector = {
    refresh,
    // What the page holds of an elite in the setting that is looked at, opened; null if it does not.
    kept: (row) => {
      const found = in_page(Page.run, row, Page.scenario), drawer = found && Page.drawer(found[0].kind);
      return drawer ? { drawer, opened: drawer.open(...found) } : null;
    },
    draw: () => { draw(); if (show.extra) show.extra.redraw(); },
    rebuild: () => { if (Page.row >= 0) view(); },
    listen: () => {
      for (const change of ["select", "scenario"]) Page.on(change, update);
      Page.by("play").addEventListener("click", play);
      Page.by("frame").addEventListener("input", (event) => { stop(); show.frame = +event.target.value; draw(); });
      for (const id of ["elite-best", "view-best"]) Page.by(id).addEventListener("click", Page.select_best);
      const canvas = Page.by("view");
      let held = null;
      canvas.addEventListener("pointerdown", (event) => { if (show.drawer && show.drawer.orbit) { held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); } });
      canvas.addEventListener("pointermove", (event) => {
        if (!held) return;
        show.drawer.orbit(event.clientX - held[0], event.clientY - held[1]);
        held = [event.clientX, event.clientY];
        draw();
      });
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
      canvas.addEventListener("keydown", (event) => {
        if (event.key === " ") { event.preventDefault(); if (frames() > 1) play(); return; }
        const turns = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
        if (!show.drawer || !show.drawer.orbit || !turns[event.key]) return;
        event.preventDefault();
        show.drawer.orbit(...turns[event.key]);
        draw();
      });
    },
  };
}
