// A part of the canvas: the plane. canvas.py joins the parts, for an anywidget is one module.

class Plane {
  constructor(spec) {
    this.spec = spec;
    this.local = null; // [x, y, number]: where the point was put and the kernel has not answered
  }

  margin() {
    return 0;
  }

  place(width) {
    this.size = Math.min(width, this.spec.side);
    this.left = 0;
    return this.size;
  }

  toScreen(x, y) {
    const { limit } = this.spec;
    return [this.left + ((x / limit + 1) / 2) * this.size, ((1 - y / limit) / 2) * this.size];
  }

  toPlane(x, y) {
    const { limit } = this.spec;
    return this.inside([(((x - this.left) / this.size) * 2 - 1) * limit, (1 - (y / this.size) * 2) * limit]);
  }

  inside(point) {
    const { limit } = this.spec;
    return point.map((c) => Math.round(Math.min(limit, Math.max(-limit, c)) * 100) / 100);
  }

  handle(arrays) {
    if (this.local) return this.local;
    const array = arrays[`${this.spec.name}.handle`];
    return array ? Array.from(array.data) : null;
  }

  paint(context, theme, arrays, marks, focused) {
    const { name, labels, arrows, handle, mark } = this.spec;
    const points = arrays[`${name}.points`];
    this.taken = []; // boxes of the labels painted so far
    this.paintAxes(context, theme);
    const outline = arrays[`${name}.outline`];
    if (outline) this.paintOutline(context, theme, outline.data);
    const sizes = arrays[`${name}.sizes`];
    const tips = [];
    if (points) {
      for (let i = 0; i < labels.length; i++) {
        const [x, y] = this.toScreen(points.data[2 * i], points.data[2 * i + 1]);
        const size = sizes ? Math.sqrt(Math.max(0, sizes.data[i])) : 0.3;
        this.paintPoint(context, theme, x, y, size, arrows);
        tips.push([x, y, 3 + 11 * size]);
      }
    }
    const put = this.handle(arrays);
    const target = arrays[`${name}.mark`];
    for (const [x, y, r] of tips) this.taken.push([x - r, y - r, x + r, y + r]);
    tips.forEach(([x, y, r], i) =>
      this.label(context, theme, labels[i], x, y, r, theme.text, marks.point === i),
    );
    if (target) this.paintMark(context, theme, target.data, mark);
    if (handle && put) this.paintHandle(context, theme, put, handle, focused);
  }

  paintAxes(context, theme) {
    const { limit, xTitle, yTitle } = this.spec;
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.strokeRect(this.left + 0.5, 0.5, this.size - 1, this.size - 1);
    const [x0, y0] = this.toScreen(0, 0).map((c) => Math.round(c) + 0.5);
    context.beginPath();
    context.moveTo(this.left, y0);
    context.lineTo(this.left + this.size, y0);
    context.moveTo(x0, 0);
    context.lineTo(x0, this.size);
    context.stroke();
    context.font = `${SMALL}px ${theme.family}`;
    context.fillStyle = theme.faint;
    for (let i = -Math.floor(limit); i <= limit; i++) {
      if (i === 0 || Math.abs(i) === limit) continue;
      const [x, y] = this.toScreen(i, i);
      context.textAlign = "center";
      context.textBaseline = "top";
      context.fillText(number(i, 0), x, y0 + 3);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(number(i, 0), x0 - 4, y);
    }
    context.textAlign = "right";
    context.textBaseline = "bottom";
    if (xTitle) context.fillText(`${xTitle} →`, this.left + this.size - 5, this.size - 4);
    context.textAlign = "left";
    context.textBaseline = "top";
    if (yTitle) context.fillText(`↑ ${yTitle}`, this.left + 5, 5);
  }

  paintOutline(context, theme, data) {
    context.save();
    context.beginPath();
    for (let i = 0; i < data.length; i += 2) context.lineTo(...this.toScreen(data[i], data[i + 1]));
    context.closePath();
    context.fillStyle = theme.key;
    context.globalAlpha = 0.07;
    context.fill();
    context.globalAlpha = 0.8;
    context.setLineDash([4, 4]);
    context.strokeStyle = theme.key;
    context.stroke();
    context.restore();
  }

  paintPoint(context, theme, x, y, size, arrow) {
    context.strokeStyle = theme.key;
    context.fillStyle = theme.key;
    if (arrow) {
      context.save();
      context.globalAlpha = 0.35 + 0.65 * size;
      this.arrow(context, x, y, 1 + 6 * size);
      context.restore();
    }
    context.beginPath();
    context.arc(x, y, 2.5 + 11 * size, 0, 2 * Math.PI);
    context.globalAlpha = arrow ? 0.9 : 0.75;
    context.fill();
    context.globalAlpha = 1;
  }

  arrow(context, x, y, width) {
    const [x0, y0] = this.toScreen(0, 0);
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x, y);
    context.stroke();
  }

  paintHandle(context, theme, [px, py], word, focused) {
    const [x, y] = this.toScreen(px, py);
    context.strokeStyle = theme.paper;
    this.arrow(context, x, y, 6);
    context.strokeStyle = theme.query;
    this.arrow(context, x, y, 3);
    context.beginPath();
    context.arc(x, y, 10, 0, 2 * Math.PI);
    context.fillStyle = theme.query;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = theme.paper;
    context.stroke();
    if (focused) {
      context.beginPath();
      context.arc(x, y, 14, 0, 2 * Math.PI);
      context.lineWidth = 2;
      context.strokeStyle = theme.text;
      context.stroke();
    }
    const [x0, y0] = this.toScreen(0, 0);
    for (let i = 0.2; i < 1; i += 0.1) {
      const [ax, ay] = [x0 + i * (x - x0), y0 + i * (y - y0)];
      this.taken.push([ax - 3, ay - 3, ax + 3, ay + 3]); // the word keeps off its own arrow
    }
    this.label(context, theme, word, x, y, 13, theme.query, true);
  }

  paintMark(context, theme, [px, py], word) {
    const [x, y] = this.toScreen(px, py);
    context.beginPath();
    [[0, -11], [11, 0], [0, 11], [-11, 0]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
    context.closePath();
    context.fillStyle = theme.mix;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = theme.paper;
    context.stroke();
    this.label(context, theme, word, x, y, 12, theme.mix, true);
  }

  // A word beside a point, at the first of eight places where it covers no other label.
  label(context, theme, word, x, y, radius, colour, bold) {
    if (!word) return;
    context.font = `${bold ? "700 " : ""}${FONT}px ${theme.family}`;
    const [w, h] = [context.measureText(word).width, FONT + 1];
    const r = radius + 3;
    const out = x >= this.left + this.size / 2 ? 1 : -1;
    const sides = [[out, 0], [0, -1], [0, 1], [-out, 0], [out, -1], [out, 1], [-out, -1], [-out, 1]];
    let best = null;
    for (const [sx, sy] of sides) {
      const reach = sx && sy ? 0.6 * r : r;
      const cx = x + sx * (reach + w / 2);
      const cy = y + sy * (reach + h / 2);
      const box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2];
      const end = this.size - 1;
      const off = box[0] < this.left + 1 || box[2] > this.left + end || box[1] < 1 || box[3] > end;
      const covered = this.taken.reduce((sum, other) => sum
        + Math.max(0, Math.min(box[2], other[2]) - Math.max(box[0], other[0]))
        * Math.max(0, Math.min(box[3], other[3]) - Math.max(box[1], other[1])), off ? 1e6 : 0);
      if (!best || covered < best.covered) best = { covered, box, cx, cy };
      if (covered === 0) break;
    }
    this.taken.push(best.box);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = theme.paper;
    context.strokeText(word, best.cx, best.cy);
    context.fillStyle = colour;
    context.fillText(word, best.cx, best.cy);
  }
}
