// How the niches grew: their bounds over evaluations, and pictures of the niches right after changes.
"use strict";
{
  const SIDE = 240; // pixels; picture_pixels in niche_changes.py makes as many
  const [OUTSIDE, EMPTY, BORDER, FIRST] = [0, 1, 2, 3];
  let shown = null; // the run that is looked at

  // A step for each change; the last bounds hold until the end of the run.
  const bounds = (run) => run.growth.bounds.map((feature, k) => {
    const box = Page.chart_box(Page.by("growth"), `growth-${k}`, `Bounds of ${feature.name}`);
    const end = Math.max(run.evaluations, run.growth.at[run.growth.at.length - 1]);
    const x = [...run.growth.at, end], values = [...feature.low, ...feature.high], text = Page.format(...Page.bounds(values));
    const side = (name, fill) => {
      const y = [...feature[name], feature[name][feature[name].length - 1]];
      return { x, y, type: "scatter", mode: "lines", fill, line: { ...Page.colours.line(k), shape: "hv" }, text: y.map(text), hovertemplate: `%{text} from %{x:,} on<extra>${name}</extra>` };
    };
    const last = feature.low.length - 1;
    const said = `Bounds of ${feature.name}: from ${text(feature.low[0])} to ${text(feature.high[0])} after ${Page.number(run.growth.at[0])} evaluations, in the end from ${text(feature.low[last])} to ${text(feature.high[last])}.`;
    return Page.chart(box, said, [side("low", "none"), side("high", "tonexty")], {
      xaxis: { title: { text: "evaluations", font: { size: 11 }, standoff: 4 }, nticks: 5 }, yaxis: { tickformat: Page.tick_format(values, false) },
    });
  });

  const picture = (run, { change, filled, pixels }) => {
    const { at, n_niches, lost } = run.growth;
    const canvas = Page.make("canvas", { width: SIDE, height: SIDE, role: "img" });
    const said = `after ${Page.number(at[change])} evaluations: ${Page.number(filled)} of ${Page.number(n_niches[change])} niches filled, ${Page.number(lost[change])} elites lost`;
    canvas.setAttribute("aria-label", `The niches ${said}.`);
    const context = canvas.getContext("2d"), image = context.createImageData(SIDE, SIDE);
    const words = new Uint32Array(image.data.buffer), ramp = Page.colours.ramp(run.direction === "min").words;
    const plain = [];
    plain[OUTSIDE] = 0; plain[EMPTY] = Page.colours.word("--empty"); plain[BORDER] = Page.colours.word("--masked");
    for (let i = 0; i < words.length; i++) {
      const row = Math.floor(i / SIDE), from = run.y_down ? (SIDE - 1 - row) * SIDE + i % SIDE : i;
      const level = pixels[from];
      words[i] = level < FIRST ? plain[level] : ramp[Math.round((level - FIRST) / 252 * 255)];
    }
    context.putImageData(image, 0, 0);
    return Page.make("figure", {}, canvas, Page.make("figcaption", {}, said));
  };

  Page.growth = async (run = shown) => {
    shown = run;
    const growth = run && run.growth;
    Page.by("growth-card").hidden = !growth;
    if (!growth) return;
    const many = growth.n_features > growth.bounds.length ? `The bounds of ${growth.bounds.length} of ${growth.n_features} features, those that grew most. ` : "";
    const of = growth.pictures.length;
    const pictures = of ? `The niches right after ${of} of ${growth.at.length} changes, ${run.archive.features.map((f) => f.title).join(" to the right, ")} ${run.y_down ? "downwards" : "upwards"}, all in one frame; fitness from ${growth.range.map(Page.format(...growth.range)).join(" to ")}, better ones brighter.`
      : growth.n_features > 2 ? `Niches of ${growth.n_features} features cannot be drawn in a plane.` : "The run kept no pictures of its niches.";
    Page.by("growth-said").textContent = many + pictures;
    Page.fill(Page.by("growth-pictures"), ...growth.pictures.map((one) => picture(run, one)));
    Page.fill(Page.by("growth"));
    await Promise.all(bounds(run));
  };
}
