// Which niche a place of a two-dimensional feature space belongs to, at any zoom; see niches.py for what describes them.
"use strict";
{
  // Cells of equal width along each axis; niches are numbered with the second axis fastest.
  const grid = ({ grid: [nx, ny], shift }) => {
    const cell = (unit, n) => Math.max(0, Math.min(n - 1, Math.floor(unit * n + shift)));
    const middle = (i, n) => {
      const low = Math.max(0, (i - shift) / n), high = i === n - 1 ? 1 : (i + 1 - shift) / n;
      return (low + high) / 2;
    };
    return {
      niche_of: (u, v) => cell(u, nx) * ny + cell(v, ny),
      place: (niche) => [middle(Math.floor(niche / ny), nx), middle(niche % ny, ny)],
      convex: true,
      least: 1 / 4096,
    };
  };

  // The nearest centroid in the p-norm, the lowest number on ties: buckets are searched ring by ring around the place.
  // Nothing in a ring further out can be nearer than the ring itself, whatever p is: no distance is below the largest
  // difference along an axis.
  const voronoi = ({ centroids, p }) => {
    const n = centroids.length / 2, side = Math.max(1, Math.ceil(Math.sqrt(n / 1.5))), width = 1 / side;
    const bucket = (unit) => Math.max(0, Math.min(side - 1, Math.floor(unit * side)));
    const of = (i) => bucket(centroids[2 * i + 1]) * side + bucket(centroids[2 * i]);
    const starts = new Int32Array(side * side + 1), ids = new Int32Array(n);
    for (let i = 0; i < n; i++) starts[of(i) + 1]++;
    for (let k = 0; k < side * side; k++) starts[k + 1] += starts[k];
    const free = starts.slice();
    for (let i = 0; i < n; i++) ids[free[of(i)]++] = i;
    const power = p === "inf" ? (a) => a : p === 2 ? (a) => a * a : (a) => a ** p;
    const joined = p === "inf" ? Math.max : (a, b) => a + b;
    const niche_of = (u, v) => {
      const bx = bucket(u), by = bucket(v);
      const edge = Math.min(u - bx * width, (bx + 1) * width - u, v - by * width, (by + 1) * width - v);
      let best = Infinity, found = -1;
      for (let ring = 0; ring <= side; ring++) {
        for (let y = Math.max(0, by - ring); y <= Math.min(side - 1, by + ring); y++) {
          const whole = y === by - ring || y === by + ring;
          for (let x = bx - ring; x <= bx + ring; x += whole ? 1 : 2 * ring) {
            if (x < 0 || x >= side) continue;
            const at = y * side + x;
            for (let k = starts[at]; k < starts[at + 1]; k++) {
              const i = ids[k], dx = Math.abs(centroids[2 * i] - u), dy = Math.abs(centroids[2 * i + 1] - v);
              const distance = p === 2 ? dx * dx + dy * dy : joined(power(dx), power(dy));
              if (distance < best || (distance === best && i < found)) { best = distance; found = i; }
            }
          }
        }
        if (found >= 0 && best <= power(Math.max(0, edge) + ring * width)) break;
      }
      return found;
    };
    return { niche_of, place: (niche) => [centroids[2 * niche], centroids[2 * niche + 1]], convex: p === 2, least: 1 / 4096 };
  };

  // A picture of niche numbers, row 0 at the top, each row as its difference to the one above.
  const picture = ({ picture: differences }) => {
    const [rows, side] = differences.shape, niches = Int32Array.from(differences);
    for (let i = side; i < rows * side; i++) niches[i] += niches[i - side];
    const pixel = (unit) => Math.max(0, Math.min(side - 1, Math.floor(unit * side)));
    return {
      niche_of: (u, v) => niches[pixel(1 - v) * side + pixel(u)],
      // The mean of its pixels; null if it is too small to have one.
      place: (niche) => {
        let n = 0, x = 0, y = 0;
        niches.forEach((here, i) => { if (here === niche) { n++; x += i % side; y += Math.floor(i / side); } });
        return n ? [(x / n + 0.5) / side, 1 - (y / n + 0.5) / side] : null;
      },
      least: 1 / 32,
    };
  };

  // { niche_of(u, v), place(niche), convex, least }: the niche at a place in the unit square, v upwards; a place in a niche;
  // whether all niches are convex; and the smallest view that makes sense.
  Page.cells = (described) => (described.grid ? grid(described) : described.centroids ? voronoi(described) : picture(described));

  // The niche of each pixel of a view {x, y, size} of the unit square, row 0 at the top (or at the bottom, if down).
  Page.raster = (cells, n_niches, pixels, { x, y, size }, down) => {
    const niches = n_niches < 2 ** 31 ? new Int32Array(pixels * pixels) : new Float64Array(pixels * pixels);
    niches.fill(-1);
    const get = (i, j) => {
      const at = j * pixels + i;
      if (niches[at] < 0) {
        const up = (j + 0.5) / pixels;
        niches[at] = cells.niche_of(x + (size * (i + 0.5)) / pixels, y + size * (down ? up : 1 - up));
      }
      return niches[at];
    };
    // A block whose corners lie in one convex niche lies in it.
    const fill = (left, top, right, bottom) => {
      const niche = get(left, top), others = [get(right, top), get(left, bottom), get(right, bottom)];
      if (others.every((other) => other === niche)) {
        for (let j = top; j <= bottom; j++) niches.fill(niche, j * pixels + left, j * pixels + right + 1);
      } else if (right - left > 1 || bottom - top > 1) {
        const across = (left + right) >> 1, down = (top + bottom) >> 1;
        fill(left, top, across, down);
        if (right > across) fill(across + 1, top, right, down);
        if (bottom > down) fill(left, down + 1, across, bottom);
        if (right > across && bottom > down) fill(across + 1, down + 1, right, bottom);
      }
    };
    const block = 16, last = pixels - 1;
    for (let top = 0; top < pixels; top += block) {
      for (let left = 0; left < pixels; left += block) {
        if (cells.convex) fill(left, top, Math.min(left + block - 1, last), Math.min(top + block - 1, last));
        else for (let j = top; j < Math.min(top + block, pixels); j++) for (let i = left; i < Math.min(left + block, pixels); i++) get(i, j);
      }
    }
    return niches;
  };
}
