// A pen that draws SVG: the part of a canvas' context that the page's drawings use, so that they can be saved as vectors.
"use strict";
{
  const number = (value) => String(+value.toFixed(2));
  const escaped = (text) => Page.escaped(text).replaceAll('"', "&quot;");

  Page.Pen = class {
    constructor(width, height) {
      Object.assign(this, { width, height, parts: [], path: "", clips: 0, open: 0, kept: [], dash: [] });
      Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, textAlign: "left", textBaseline: "alphabetic", lineCap: "butt", lineJoin: "miter", font: "12px sans-serif" });
      this.ruler = Page.ruler();
    }

    // -- state: groups are opened as it changes, and closed when it is restored
    save() { this.kept.push({ open: this.open, fillStyle: this.fillStyle, strokeStyle: this.strokeStyle, lineWidth: this.lineWidth, globalAlpha: this.globalAlpha, textAlign: this.textAlign, textBaseline: this.textBaseline, lineCap: this.lineCap, lineJoin: this.lineJoin, dash: this.dash }); }
    restore() {
      const { open, ...rest } = this.kept.pop();
      while (this.open > open) { this.parts.push("</g>"); this.open--; }
      Object.assign(this, rest);
    }
    group(attributes) { this.parts.push(`<g ${attributes}>`); this.open++; }
    translate(x, y) { this.group(`transform="translate(${number(x)} ${number(y)})"`); }
    rotate(angle) { this.group(`transform="rotate(${number((angle * 180) / Math.PI)})"`); }
    scale(x, y) { this.group(`transform="scale(${x} ${y})"`); }
    setTransform() {}
    setLineDash(dash) { this.dash = dash; }
    clip() {
      const id = `clip-${++this.clips}`;
      this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
      this.group(`clip-path="url(#${id})"`);
    }

    // -- paths
    beginPath() { this.path = ""; }
    moveTo(x, y) { this.path += `M${number(x)} ${number(y)}`; }
    lineTo(x, y) { this.path += `${this.path ? "L" : "M"}${number(x)} ${number(y)}`; }
    closePath() { this.path += "Z"; }
    bezierCurveTo(...values) { this.path += `C${values.map(number).join(" ")}`; }
    quadraticCurveTo(...values) { this.path += `Q${values.map(number).join(" ")}`; }
    rect(x, y, width, height) { this.path += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}Z`; }
    arc(x, y, radius, from, to) {
      const at = (angle) => `${number(x + radius * Math.cos(angle))} ${number(y + radius * Math.sin(angle))}`;
      const middle = (from + to) / 2, step = (angle) => `A${number(radius)} ${number(radius)} 0 0 1 ${at(angle)}`;
      this.path += `${this.path ? "L" : "M"}${at(from)}${step(middle)}${step(to)}`;
    }

    // -- ink
    put(tag) { this.parts.push(tag); }
    alpha() { return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ""; }
    fill() { this.put(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha()}/>`); }
    stroke() {
      const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
      this.put(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linecap="${this.lineCap}" stroke-linejoin="${this.lineJoin}"${dash}${this.alpha()}/>`);
    }
    fillRect(x, y, width, height) { this.put(`<rect x="${number(x)}" y="${number(y)}" width="${number(Math.max(0, width))}" height="${number(Math.max(0, height))}" fill="${this.fillStyle}"${this.alpha()}/>`); }
    strokeRect(x, y, width, height) { this.put(`<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.alpha()}/>`); }
    clearRect() {}
    fillText(text, x, y) {
      const anchor = { left: "start", start: "start", center: "middle", right: "end", end: "end" }[this.textAlign];
      const line = { alphabetic: "auto", middle: "central", top: "text-before-edge", bottom: "text-after-edge" }[this.textBaseline];
      this.put(`<text x="${number(x)}" y="${number(y)}" fill="${this.fillStyle}" text-anchor="${anchor}" dominant-baseline="${line}" font-size="12" font-family="${escaped(Page.css("--font"))}"${this.alpha()}>${escaped(text)}</text>`);
    }
    measureText(text) { return this.ruler.measureText(text); }
    // Pixels stay pixels.
    drawImage(image, x, y, width, height) { this.put(`<image x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" preserveAspectRatio="none" style="image-rendering: pixelated" href="${image.toDataURL()}"/>`); }

    text(ground) {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"><rect width="100%" height="100%" fill="${ground}"/>${this.parts.join("\n")}${"</g>".repeat(this.open)}</svg>\n`;
    }
  };
}
