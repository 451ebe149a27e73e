// A part of the canvas: grids of cells. canvas.py joins the parts, for an anywidget is one module.

const EMPTY = "∅"; // stands at the end of a row without a single open cell

class Grid {
  constructor(spec) {
    this.spec = spec;
    this.cell = [0, 0, 0]; // head, row, column under the keyboard cursor
  }

  margin(context, theme) {
    return widest(this.spec.rows, context, theme) + 10;
  }

  // Place everything for this width; returns the height. `left`: room for the words of the rows.
  place(width, left, context, theme) {
    const { rows, columns, heads } = this.spec;
    const words = widest(columns, context, theme);
    const several = heads.length > 1;
    const right = this.spec.sums ? widest([this.spec.sums, `${number(0, 2)} ${EMPTY}`], context, theme) + 10 : 0;
    const room = (perRow) =>
      (width - left - 2 - GAP * (perRow - 1) - right * perRow - 0.75 * words * (several ? 1 : 0)) /
      perRow / columns.length;
    const largest = rows.length === 1 ? 76 : 40;
    let perRow = 1;
    while (perRow < heads.length && room(perRow + 1) >= 11.5) perRow++;
    perRow = Math.ceil(heads.length / Math.ceil(heads.length / perRow)); // 4 + 4, not 5 + 3
    let w = Math.min(largest, room(perRow));
    const flat = words <= w - 4;
    if (!flat && !several) {
      w = Math.min(largest, (width - left - 2 - Math.max(right, 0.7 * words)) / columns.length);
    }
    w = Math.max(6, Math.floor(w));
    const h = rows.length === 1 ? 34 : Math.min(w, largest);
    const letters = Math.max(10, Math.min(FONT, h));
    const titles = heads.some(Boolean) ? FONT + 9 : 0;
    const header = titles + (flat ? FONT + 6 : Math.ceil((words * 0.8 * letters) / FONT) + letters + 2);
    const blockWidth = w * columns.length + right + GAP;
    const blockHeight = header + h * rows.length + (several ? GAP - 4 : 2);
    Object.assign(this, { w, h, left, header, letters, flat, perRow, blockWidth, blockHeight });
    return Math.ceil(heads.length / perRow) * blockHeight;
  }

  corner(head) {
    const x = this.left + (head % this.perRow) * this.blockWidth;
    const y = Math.floor(head / this.perRow) * this.blockHeight + this.header;
    return [x, y];
  }

  share(value, low, high) {
    return high > low ? (value - low) / (high - low) : 0.5;
  }

  limits(array) {
    if (this.spec.limits) return this.spec.limits;
    let low = Infinity;
    let high = -Infinity;
    for (const value of array.data) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (!this.spec.signed) return [low, high];
    const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-size, size];
  }

  paint(context, theme, arrays, marks, focused) {
    const { name, rows, columns, heads, decimals, signed, plain } = this.spec;
    const array = arrays[name];
    const size = heads.length * rows.length * columns.length;
    if (!array || array.data.length !== size) return;
    const closed = arrays[`${name}.closed`]?.data;
    const sums = arrays[`${name}.sums`]?.data;
    Object.assign(this, { array, closed });
    const { w, h } = this;
    const [low, high] = this.limits(array);
    const ramp = signed ? theme.signed : theme.ramp;
    const longest = number(signed ? -0.88 : 0.88, decimals);
    let digits = FONT + 1;
    do context.font = `${--digits}px ${theme.family}`;
    while (digits > 10 && context.measureText(longest).width > w - 4);
    const fits = !plain && h >= digits + 2 && context.measureText(longest).width <= w - 4;
    for (let head = 0; head < heads.length; head++) {
      const [x0, y0] = this.corner(head);
      this.paintLabels(context, theme, head, x0, y0, marks);
      context.font = `${digits}px ${theme.family}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      for (let row = 0; row < rows.length; row++) {
        for (let column = 0; column < columns.length; column++) {
          const index = (head * rows.length + row) * columns.length + column;
          const value = array.data[index];
          const x = x0 + column * w;
          const y = y0 + row * h;
          if (Number.isNaN(value)) {
            if (closed && !closed[index]) this.paintNaN(context, theme, x, y);
            else this.paintClosed(context, theme, x, y);
            continue;
          }
          const [fill, ink] = ramp(this.share(value, low, high));
          context.fillStyle = fill;
          context.fillRect(x, y, w - 1, h - 1);
          if (closed?.[index]) this.paintLeak(context, theme, x, y);
          if (!fits) continue;
          context.fillStyle = ink;
          context.fillText(number(value, decimals), x + (w - 1) / 2, y + h / 2);
        }
      }
      if (sums) this.paintSums(context, theme, head, x0, y0, sums, marks);
      this.paintMarks(context, theme, head, x0, y0, marks);
    }
    if (focused) this.outline(context, theme, ...this.cell, theme.query);
  }

  paintLabels(context, theme, head, x0, y0, marks) {
    const { rows, columns, heads } = this.spec;
    context.fillStyle = theme.text;
    if (heads[head]) {
      context.font = `600 ${FONT}px ${theme.family}`;
      context.textAlign = "left";
      context.textBaseline = "top";
      context.fillText(heads[head], x0, y0 - this.header + 2);
    }
    const font = (bold) => `${bold ? "700 " : ""}${this.letters}px ${theme.family}`;
    if (head % this.perRow === 0) {
      context.textAlign = "right";
      context.textBaseline = "middle";
      rows.forEach((word, row) => {
        context.font = font(marks.row === row);
        context.fillText(word, x0 - 8, y0 + (row + 0.5) * this.h);
      });
    }
    context.textAlign = this.flat ? "center" : "left";
    context.textBaseline = this.flat ? "bottom" : "middle";
    columns.forEach((word, column) => {
      context.font = font(marks.column === column);
      context.save();
      context.translate(x0 + (column + 0.5) * this.w, y0 - (this.flat ? 4 : 6));
      if (!this.flat) context.rotate(-0.9);
      context.fillText(word, 0, 0);
      context.restore();
    });
  }

  paintClosed(context, theme, x, y) {
    // May not attend: hatched, so that it is told from a weight of zero without colour.
    const { w, h } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, w - 1, h - 1);
    context.clip();
    context.fillStyle = theme.paper;
    context.fill();
    context.strokeStyle = theme.faint;
    context.lineWidth = 1;
    context.beginPath();
    for (let i = -h; i < w; i += 6) {
      context.moveTo(x + i, y + h);
      context.lineTo(x + i + h, y);
    }
    context.stroke();
    context.strokeRect(x + 0.5, y + 0.5, w - 2, h - 2);
    context.restore();
  }

  // May not attend, and has a number all the same: framed.
  paintLeak(context, theme, x, y) {
    context.strokeStyle = theme.query;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, this.w - 3, this.h - 3);
  }

  // May attend, and its number is none.
  paintNaN(context, theme, x, y) {
    this.paintLeak(context, theme, x, y);
    context.save();
    context.font = `${Math.max(8, Math.min(SMALL, this.w / 2.4))}px ${theme.family}`;
    context.fillStyle = theme.query;
    context.fillText("NaN", x + (this.w - 1) / 2, y + this.h / 2);
    context.restore();
  }

  // At the end of each row its sum, or the count of open cells, and a sign for empty rows.
  paintSums(context, theme, head, x0, y0, sums, marks) {
    const { rows, columns } = this.spec;
    const x = x0 + columns.length * this.w + 6;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillStyle = theme.text;
    context.font = `${FONT}px ${theme.family}`;
    context.fillText(this.spec.sums, x, y0 - 4);
    context.textBaseline = "middle";
    for (let row = 0; row < rows.length; row++) {
      const empty = marks.empty?.includes(row);
      const sum = sums[head * rows.length + row];
      const text = Number.isNaN(sum) ? "NaN" : number(sum, this.spec.plain ? 0 : 2);
      context.fillStyle = empty ? theme.query : theme.text;
      context.font = `${marks.row === row ? "700 " : ""}${this.letters}px ${theme.family}`;
      context.fillText(empty ? `${text} ${EMPTY}` : text, x, y0 + (row + 0.5) * this.h);
    }
  }

  paintMarks(context, theme, head, x0, y0, marks) {
    const { rows, columns } = this.spec;
    if (marks.empty) {
      context.save();
      context.strokeStyle = theme.query;
      context.lineWidth = 2;
      context.setLineDash([5, 3]);
      for (const row of marks.empty) {
        context.strokeRect(x0 + 1, y0 + row * this.h + 1, columns.length * this.w - 3, this.h - 3);
      }
      context.restore();
    }
    context.strokeStyle = theme.text;
    context.lineWidth = 2;
    const frame = (row, column, high, wide) =>
      context.strokeRect(
        x0 + column * this.w - 1,
        y0 + row * this.h - 1,
        wide * this.w + 1,
        high * this.h + 1,
      );
    if (marks.row !== undefined && rows.length > 1) frame(marks.row, 0, 1, columns.length);
    if (marks.column !== undefined) frame(0, marks.column, rows.length, 1);
    if (marks.cell && marks.cell[0] === head) frame(marks.cell[1], marks.cell[2], 1, 1);
  }

  outline(context, theme, head, row, column, colour) {
    const [x0, y0] = this.corner(head);
    const [x, y] = [x0 + column * this.w, y0 + row * this.h];
    context.lineWidth = 5;
    context.strokeStyle = theme.paper;
    context.strokeRect(x - 1, y - 1, this.w + 1, this.h + 1);
    context.lineWidth = 3;
    context.strokeStyle = colour;
    context.strokeRect(x - 1, y - 1, this.w + 1, this.h + 1);
  }

  hit(x, y) {
    const { rows, columns, heads } = this.spec;
    for (let head = 0; head < heads.length; head++) {
      const [x0, y0] = this.corner(head);
      const column = Math.floor((x - x0) / this.w);
      const row = Math.floor((y - y0) / this.h);
      if (column >= 0 && column < columns.length && row >= 0 && row < rows.length) return [head, row, column];
    }
    return null;
  }

  // The cells on the straight way from one cell to another, without the first.
  way([head, row, column], [toHead, toRow, toColumn]) {
    if (head !== toHead) return [[toHead, toRow, toColumn]];
    const steps = Math.max(Math.abs(toRow - row), Math.abs(toColumn - column));
    return Array.from({ length: steps }, (_, i) => [
      head,
      row + Math.round(((i + 1) / steps) * (toRow - row)),
      column + Math.round(((i + 1) / steps) * (toColumn - column)),
    ]);
  }

  // What a cell says, for the read-out beside it and for a screen reader.
  describe([head, row, column]) {
    const { rows, columns, heads, decimals, plain } = this.spec;
    if (!this.array) return "";
    const index = (head * rows.length + row) * columns.length + column;
    const value = this.array.data[index];
    const place = [heads[head], rows[row], columns[column]].filter(Boolean).join(", ");
    let says = plain || number(value, decimals + 1);
    if (Number.isNaN(value)) says = this.closed && !this.closed[index] ? "not a number" : "may not attend";
    else if (this.closed?.[index]) says = `may not attend, and yet ${says}`;
    return `${place}: ${says}`;
  }

  move(key, step) {
    const { rows, columns, heads } = this.spec;
    const [head, row, column] = this.cell;
    const sizes = [heads.length, rows.length, columns.length];
    const change = { ArrowUp: [1, -step], ArrowDown: [1, step], ArrowLeft: [2, -step], ArrowRight: [2, step],
      PageUp: [0, -1], PageDown: [0, 1] }[key];
    const next = [head, row, column];
    if (key === "Home") next[2] = 0;
    else if (key === "End") next[2] = columns.length - 1;
    else if (change) next[change[0]] += change[1];
    else return false;
    this.cell = next.map((i, axis) => Math.min(sizes[axis] - 1, Math.max(0, i)));
    return true;
  }

  anchor([head, row, column]) {
    const [x0, y0] = this.corner(head);
    return [x0 + (column + 0.5) * this.w, y0 + row * this.h];
  }
}
