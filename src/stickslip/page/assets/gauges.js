// ---- gauges: the coordinates of a system that has no drawing, a dial for an angle, a rail for a way ----------------

const MOST_GAUGES = 12;

class GaugeStage {
  constructor(canvas) { this.canvas = canvas; }
  fit() {}
  drag() {}
  magnify() {}

  draw(run, t) {
    const {context, width, height} = surface(this.canvas), at = between(run.history.t, t);
    const shown = run.curves.filter((curve) => curve.group === "coordinate").slice(0, MOST_GAUGES);
    const columns = Math.max(1, Math.min(shown.length, Math.round(Math.sqrt((shown.length * width) / height / 1.3))));
    const rows = Math.ceil(shown.length / columns), top = 56, wide = width / columns, high = (height - top - 8) / Math.max(1, rows);
    context.clearRect(0, 0, width, height);
    this.context = context;
    shown.forEach((curve, k) => {
      const box = {x: (k % columns) * wide, y: top + Math.floor(k / columns) * high, wide, high}, value = mixed(curve.values, at);
      if (curve.unit === "rad") this.dial(curve, value, box); else this.rail(curve, value, box);
      context.fillStyle = theme.get(SERIES[k % SERIES.length]);
      symbolText(context, {name: curve.name, unit: ""}, box.x + 16, box.y + 12, "left", ` ${figure(value, 4)} ${unitText(curve.unit)}`);
    });
  }

  /** Zero is to the right, and angles grow against the clock. */
  dial(curve, value, {x, y, wide, high}) {
    const context = this.context, r = Math.max(8, Math.min(wide / 2 - 14, high / 2 - 16)), cx = x + wide / 2, cy = y + high / 2 + 8;
    context.beginPath();
    context.arc(cx, cy, r, 0, 2 * Math.PI);
    context.fillStyle = theme.get("faint");
    context.fill();
    context.beginPath();
    for (let k = 0; k < 12; k++) {
      const c = Math.cos((k * Math.PI) / 6), s = Math.sin((k * Math.PI) / 6), inner = k % 3 ? 0.93 : 0.86;
      context.moveTo(cx + inner * r * c, cy - inner * r * s);
      context.lineTo(cx + r * c, cy - r * s);
    }
    this.line("guide", 1);
    context.beginPath();
    context.moveTo(cx, cy);
    context.lineTo(cx + 0.82 * r * Math.cos(value), cy - 0.82 * r * Math.sin(value));
    this.line("body", Math.max(3, r / 14));
    dot(context, cx, cy, theme.get("outline"), Math.max(3, r / 18));
  }

  /** From the least value of the run to the largest. */
  rail(curve, value, {x, y, wide, high}) {
    const context = this.context, left = x + 22, right = x + wide - 22, middle = y + high / 2 + 8, room = curve.high - curve.low;
    const place = (v) => (room > 0 ? left + ((v - curve.low) / room) * (right - left) : (left + right) / 2);
    context.beginPath();
    context.moveTo(left, middle);
    context.lineTo(right, middle);
    this.line("guide", 2);
    context.font = "10.5px system-ui, sans-serif";
    context.textBaseline = "top";
    context.fillStyle = theme.get("soft");
    const ends = room > 0 ? [[curve.low, "left", left - 12], [curve.high, "right", right + 12]] : [[curve.low, "center", (left + right) / 2]];
    for (const [v, align, px] of ends) { context.textAlign = align; context.fillText(figure(v, 3), px, middle + 16); }
    if (curve.low < 0 && curve.high > 0) {
      context.beginPath();
      context.moveTo(place(0), middle - 9);
      context.lineTo(place(0), middle + 9);
      this.line("guide", 1);
    }
    context.fillStyle = theme.get("body");
    context.fillRect(place(value) - 9, middle - 11, 18, 22);
    context.beginPath();
    context.rect(place(value) - 9, middle - 11, 18, 22);
    this.line("outline", 1);
  }

  line(colour, width) {
    Object.assign(this.context, {strokeStyle: theme.get(colour), lineWidth: width, lineCap: "round"});
    this.context.stroke();
  }
}
