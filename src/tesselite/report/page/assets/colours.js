// Colours of values (viridis, which colour-blind readers can read and which prints in grey) and of series (Okabe, Ito).
"use strict";
{
  const stops_of = (text) => text.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const STOPS = {
    light: stops_of("440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d 2f6b8e 2c728e 297a8e 26828e " +
      "23898e 21918c 1f988b 1fa088 22a785 28ae80 32b67a 3fbc73 4ec36b 5ec962 70cf57 84d44b 98d83e addc30 c2df23 d8e219 ece51b fde725"),
    // The same hues, lifted (in OKLab, from a lightness of 0.57 on) so that the darkest stands out from a dark page.
    dark: stops_of("985aab 9761b5 9567be 916fc6 8d76cb 887ecf 8385d1 7d8cd2 7893d1 739ad1 6fa1ce 6ba7cd 68acca 65b2c8 63b8c5 60bec2 " +
      "5ec4be 5cc9ba 5bcfb5 5cd4af 5ed9a8 62de9f 6ae296 73e78c 7fea82 8ded75 9ef068 b0f15b c2f24e d5f343 e8f33a f9f237 fff28b"),
  };

  const bytes = (colour) => {
    const hex = colour.replace("#", "");
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  const word = ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red; // as ImageData holds a pixel

  const ramp = (stops, reversed) => {
    const colours = [];
    for (let i = 0; i < 256; i++) {
      const at = ((reversed ? 255 - i : i) / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      colours.push(stops[low].map((value, k) => Math.round(value + (at - low) * (stops[low + 1][k] - value))));
    }
    return colours;
  };

  Page.colours = {
    word: (name) => word(bytes(Page.css(name))),
    // The style of a series; where colours repeat, dashes and symbols differ.
    style: (i) => {
      const all = Page.css("--series").split(/\s+/), round = Math.floor(i / all.length) % 3;
      return { colour: all[i % all.length], dash: ["solid", "dash", "dot"][round], symbol: ["circle", "square", "diamond"][round] };
    },
    line: (i) => { const { colour, dash } = Page.colours.style(i); return { color: colour, dash, width: 2 }; },
    // The words and the CSS names of 256 colours; better values are brighter, whatever the direction.
    ramp: (reversed) => {
      const colours = ramp(STOPS[document.documentElement.dataset.theme], reversed);
      return { words: Uint32Array.from(colours, word), names: colours.map((c) => `rgb(${c.join(" ")})`) };
    },
  };
}
