// Axes around a plot: round values and names below and on the left. A side is {axis, text, from, to, down}.
"use strict";
{
  const GAP = 7, TITLE = 18;
  const short = (name) => (name.length > 40 ? `${name.slice(0, 20)}…${name.slice(-19)}` : name);
  const texts = ({ axis, from = 0, to = 1 }) => axis.ticks(from, to).map((tick) => [(axis.at(tick) - from) / (to - from), axis.tick_text(tick)]);

  // Names in at most this many letters, by what tells them apart: without the words that all begin with (but for the last
  // of these: "leg 0" for "duty factor of leg 0"), then by their ends, or by both ends where these are alike.
  Page.labels = (names, most) => {
    const words = names.map((name) => name.split(" "));
    let same = 0;
    while (names.length > 1 && words.every((w) => w.length > same + 1 && w[same] === words[0][same])) same++;
    const kept = words.map((w) => w.slice(Math.max(0, same - 1)).join(" "));
    const cut = (make) => kept.map((name) => (name.length > most ? make(name) : name));
    const ends = cut((name) => `…${name.slice(1 - most)}`);
    if (new Set(ends).size === names.length) return ends;
    return cut((name) => `${name.slice(0, Math.ceil((most - 1) / 2))}…${name.slice(-Math.floor((most - 1) / 2))}`);
  };

  // A disc with a number: a pinned elite.
  Page.mark = (context, x, y, colour, number) => {
    context.beginPath();
    context.arc(x, y, 8, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = Page.css("--card");
    context.stroke();
    context.lineWidth = 1;
    context.fillStyle = Page.css("--card");
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(number, x, y);
  };

  Page.frame = {
    // Room on the left for the values and the name of a side.
    margin: (context, side) => TITLE + GAP + Math.max(28, ...texts(side).map(([, text]) => context.measureText(text).width)),

    draw: (context, { left, top, width, height }, x, y) => {
      context.fillStyle = Page.css("--soft");
      context.textAlign = "center";
      context.textBaseline = "top";
      let free = -Infinity; // values that would lie over the one before are left out
      for (const [share, text] of texts(x)) {
        const at = left + share * width, half = context.measureText(text).width / 2;
        if (at - half < free) continue;
        free = at + half + GAP;
        context.fillText(text, at, top + height + GAP);
      }
      context.fillText(short(x.text), left + width / 2, top + height + 23);
      context.textBaseline = "middle";
      context.textAlign = "right";
      for (const [share, text] of texts(y)) context.fillText(text, left - GAP, top + (y.down ? share : 1 - share) * height);
      context.save();
      context.translate(left - Page.frame.margin(context, y) + 9, top + height / 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "center";
      context.fillText(short(y.text), 0, 0);
      context.restore();
    },
  };
}
