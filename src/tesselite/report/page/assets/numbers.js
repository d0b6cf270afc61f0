// Numbers as text and places along an axis: as many digits as the range of a column needs, on any scale.
"use strict";
{
  const order = (size) => Math.floor(Math.log10(size));
  const exponential = (value, digits) => (+value.toPrecision(digits)).toExponential().replace("e+", "e");
  const fixed = (value, decimals) => value.toLocaleString("en", { maximumFractionDigits: Math.max(0, Math.min(20, decimals)) });

  // How numbers between low and high are written: in at least 4 digits, and so that a thousandth of the range is seen.
  Page.format = (low, high) => {
    const range = Number.isFinite(low) && high > low ? high - low : Infinity;
    return (value) => {
      if (typeof value !== "number" || !Number.isFinite(value)) return "–";
      const size = Math.abs(value);
      if (size === 0 || (range < Infinity && size < 1e-12 * range)) return "0";
      if (Number.isInteger(value) && size < 1e15) return fixed(value, 0);
      const digits = Math.max(4, range < Infinity ? Math.min(15, order(size) - order(range) + 4) : 0);
      if (size >= 1e7 || size < 1e-4) return exponential(value, digits);
      return fixed(value, digits - 1 - order(size));
    };
  };

  // Of a number that stands alone.
  Page.number = Page.format(0, 0);

  Page.share = (value) => (Number.isFinite(value) ? `${+(100 * value).toPrecision(3)} %` : "–");

  Page.duration = (seconds) => {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 120) return `${+seconds.toPrecision(3)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };

  // Ticks are round: they have few digits.
  const tick_text = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    return (size >= 1e7 && !(Number.isInteger(value) && size < 1e9)) || size < 1e-4 ? exponential(value, 15) : fixed(value, 15);
  };

  // Round values from low to high for the ticks of an axis, about n of them.
  Page.ticks = (low, high, n = 5) => {
    const rough = high / n - low / n;
    if (!(rough > 0) || low + rough === low) return [low];
    const power = 10 ** order(rough);
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough * (1 - 1e-9));
    const decimals = Math.max(0, Math.min(100, -order(step * 1.001)));
    const ticks = [], first = Math.ceil(low / step - 1e-9);
    for (let k = 0; k <= n + 1; k++) {
      const tick = +(+((first + k) * step).toFixed(decimals)).toPrecision(15);
      if (tick <= high + 1e-9 * step) ticks.push(tick + 0); // no tick is -0
    }
    return ticks;
  };

  // The same for a logarithmic axis: powers of ten; 1, 2 and 5 of each if it is short; and even steps if it is tiny.
  const log_ticks = (low, high) => {
    const powers = [];
    for (let k = order(low); k <= Math.ceil(Math.log10(high)); k++) powers.push(+`1e${k}`);
    const within = (tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9);
    if (high / low >= 100) {
      const ticks = powers.filter(within), every = Math.ceil(ticks.length / 7);
      return ticks.filter((_, i) => i % every === 0);
    }
    const ticks = powers.flatMap((power) => [1, 2, 5].map((k) => +(k * power).toPrecision(12))).filter(within);
    return ticks.length > 1 ? ticks : Page.ticks(low, high);
  };

  // An axis from low to high: where a value is (0 to 1), which value is where, round values, and how they are written.
  // On a scale that is neither linear nor logarithmic `table` has the values at even places. With `labels`, values are the
  // numbers of these, in the middle of bands.
  Page.axis = ({ low, high, table, is_log, labels = [] }) => {
    const label = (code) => labels[Math.max(0, Math.min(labels.length - 1, Math.round(code)))];
    const text = labels.length ? label : Page.format(low, high);
    const axis = { low, high, text, table, labels, is_log: Boolean(is_log), tick_text: labels.length ? label : tick_text };
    if (is_log) {
      const from = Math.log(low), span = Math.log(high) - from;
      axis.at = (value) => (span > 0 ? (Math.log(value) - from) / span : 0.5);
      axis.value = (unit) => Math.exp(from + unit * span);
    } else {
      const values = table || [low, high], last = values.length - 1;
      axis.at = (value) => {
        if (!(high > low)) return 0.5;
        let i = 1;
        if (last > 1) { const above = values.findIndex((step) => step > value); i = Math.max(1, above < 0 ? last : above); }
        const a = values[i - 1], b = values[i];
        return (i - 1 + (value / 2 - a / 2) / (b / 2 - a / 2)) / last; // halves: the difference of huge numbers overflows
      };
      axis.value = (unit) => {
        const i = Math.max(0, Math.min(last - 1, Math.floor(unit * last))), part = unit * last - i;
        return values[i] * (1 - part) + values[i + 1] * part;
      };
    }
    axis.ticks = (from = 0, to = 1) => {
      const a = axis.value(from), b = axis.value(to);
      if (labels.length) return labels.map((_, code) => code).filter((code) => code >= a && code <= b && code % Math.ceil(labels.length / 16) === 0);
      if (is_log) return log_ticks(a, b);
      if (!table) return Page.ticks(a, b);
      // Values near even places, as round as they are far from each other.
      const gap = (to - from) / 5, rounded = new Set();
      for (let unit = from; unit < to + gap / 2; unit += gap) {
        const near = axis.value(unit + gap / 2) - axis.value(unit - gap / 2);
        const power = 10 ** order(near / 2);
        const tick = +(Math.round(axis.value(unit) / power) * power).toPrecision(12);
        if (tick >= a && tick <= b) rounded.add(tick);
      }
      return [...rounded];
    };
    return axis;
  };

  // Plotly's format for an axis with these values: as many digits as tell its ticks apart.
  Page.tick_format = (values, is_share = false) => {
    const [low, high] = Page.bounds(values);
    const size = Math.max(Math.abs(low), Math.abs(high)), range = high > low ? high - low : size;
    if (!(size > 0)) return "~g";
    if (is_share) return `.${Math.max(0, Math.min(12, -order(range)))}~%`;
    if (size >= 1e7 || size < 1e-3) return `.${Math.max(2, Math.min(15, order(size) - order(range) + 2))}~e`;
    return `,.${Math.max(0, Math.min(15, 2 - order(range)))}~f`;
  };

  // The smallest and the largest of values, without those that are no numbers; 0 and 1 of none.
  Page.bounds = (values) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : [0, 1];
  };
}
