// ---- plots: time histories, phase portrait, ribbon of contact states; curves once, the playhead every frame -------

const MARGIN = {left: 54, right: 10, top: 18, bottom: 22};
const SERIES = ["s0", "s1", "s2", "s3", "s4", "s5"];
const MOST_CURVES = 12; // per panel: more cannot be told apart

/** What stands still is drawn into a canvas of its own and copied in every frame. */
class Plot {
  constructor(canvas) { this.canvas = canvas; this.stale = true; }

  paint(run, t) {
    const {context, width, height, ratio} = surface(this.canvas);
    Object.assign(this, {context, width, height});
    if (this.stale || !this.still || this.still.width !== this.canvas.width || this.still.height !== this.canvas.height) {
      this.still = Object.assign(document.createElement("canvas"), {width: this.canvas.width, height: this.canvas.height});
      const own = this.still.getContext("2d");
      own.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.layout(run, width, height);
      this.background(own, run);
      this.stale = false;
    }
    context.clearRect(0, 0, width, height);
    context.drawImage(this.still, 0, 0, width, height);
    this.foreground(context, run, t);
  }
}

/** A panel, or two where some of its curves move far less than others and would be flat beside them. */
function apartBySize(panel) {
  const range = ({low, high}) => high - low, most = Math.max(...panel.curves.map(range));
  const small = panel.curves.filter((curve) => range(curve) < most / FLAT), moves = Math.max(0, ...small.map(range));
  if (!["coordinate", "velocity"].includes(panel.group) || moves < 1e-6 * most) return [panel];
  return [{...panel, curves: panel.curves.filter((curve) => !small.includes(curve))}, {...panel, curves: small}];
}

const FLAT = 10;

/** Panels of curves with equal unit, stacked over one time axis. */
class History extends Plot {
  constructor(canvas) { super(canvas); this.groups = new Set(["coordinate", "velocity"]); }

  layout(run, width, height) {
    const panels = new Map();
    for (const curve of run.curves) if (this.groups.has(curve.group)) {
      const key = `${curve.group}|${curve.unit}`;
      if (!panels.has(key)) panels.set(key, {curves: [], unit: curve.unit, group: curve.group});
      if (panels.get(key).curves.length < MOST_CURVES) panels.get(key).curves.push(curve);
    }
    this.panels = [...panels.values()].flatMap(apartBySize);
    for (const panel of this.panels) panel.earlier = panel.curves.map((curve) => alike(this.earlier, curve));
    const each = (height - MARGIN.bottom) / Math.max(1, this.panels.length);
    this.panels.forEach((panel, i) => {
      const all = [...panel.curves, ...panel.earlier.filter(Boolean)];
      const low = Math.min(...all.map((c) => c.low)), high = Math.max(...all.map((c) => c.high));
      const room = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
      Object.assign(panel, {top: i * each + MARGIN.top, bottom: (i + 1) * each - 4, low: low - room, high: high + room});
      panel.left = MARGIN.left; panel.right = width - MARGIN.right;
    });
    this.span = [run.t0, run.t1];
  }

  px(t) {
    const [a, b] = this.span;
    return MARGIN.left + ((t - a) / (b - a || 1)) * (this.width - MARGIN.left - MARGIN.right);
  }
  time(x) {
    const [a, b] = this.span;
    return a + ((x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * (b - a);
  }

  background(context, run) {
    this.panels.forEach((panel, i) => {
      grid(context, panel, this.span, i === this.panels.length - 1 ? "t [s]" : null);
      asBefore(context, panel, () => panel.earlier.forEach((curve, k) => { if (curve) trace(context, this, panel, this.earlier.history.t, curve.values, SERIES[k % SERIES.length]); }));
      panel.curves.forEach((curve, k) => trace(context, this, panel, run.history.t, curve.values, SERIES[k % SERIES.length]));
    });
  }

  foreground(context, run, t) {
    const at = between(run.history.t, t), x = this.px(t);
    for (const panel of this.panels) {
      vertical(context, x, panel.top - 2, panel.bottom, theme.get("ink"));
      panelTitle(context, panel, at);
      panel.curves.forEach((curve, k) => {
        const y = mixed(curve.values, at);
        if (y === y) dot(context, x, level(panel, y), theme.get(SERIES[k % SERIES.length]), 3.2);
      });
    }
  }

  /** Values under the pointer, as lines of text. */
  hover(run, x, y) {
    const panel = this.panels.find((p) => y <= p.bottom + 2) ?? this.panels.at(-1);
    if (!panel) return null;
    const t = Math.min(run.t1, Math.max(run.t0, this.time(x))), at = between(run.history.t, t);
    const lines = panel.curves.map((c) => `${spoken(c.name)}  ${figure(mixed(c.values, at), 5)} ${unitText(c.unit)}`);
    return {t, text: [`t  ${clockText(t, run.t1 - run.t0)}`, ...lines].join("\n")};
  }
}

class Phase extends Plot {
  layout(run, width, height) {
    this.x = run.curves[this.xNumber] ?? run.curves[0];
    this.y = run.curves[this.yNumber] ?? run.curves[0];
    this.panel = {left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom - 8};
    this.old = [alike(this.earlier, this.x), alike(this.earlier, this.y)];
    [["x", this.x], ["y", this.y]].forEach(([axis, curve], k) => {
      const low = Math.min(curve.low, this.old[k]?.low ?? curve.low), high = Math.max(curve.high, this.old[k]?.high ?? curve.high);
      const room = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
      this.panel[axis] = [low - room, high + room];
    });
    this.panel.low = this.panel.y[0];
    this.panel.high = this.panel.y[1];
  }

  px(x) {
    const {left, right} = this.panel, [a, b] = this.panel.x;
    return left + ((x - a) / (b - a)) * (right - left);
  }

  background(context) {
    grid(context, this.panel, this.panel.x, null);
    if (this.old[0] && this.old[1]) asBefore(context, this.panel, () => trace(context, this, this.panel, this.old[0].values, this.old[1].values, "soft", 1));
    context.globalAlpha = 0.55;
    trace(context, this, this.panel, this.x.values, this.y.values, "s0", 1);
    context.globalAlpha = 1;
    symbolText(context, this.x, this.panel.right, this.panel.bottom + 27, "right");
    symbolText(context, this.y, this.panel.left, this.panel.top - 8, "left");
  }

  foreground(context, run, t) {
    const times = run.history.t, at = between(times, t), from = before(times, t - 0.5 * this.speed);
    context.beginPath();
    for (let i = from; i <= at.i; i++) context.lineTo(this.px(this.x.values[i]), level(this.panel, this.y.values[i]));
    const x = this.px(mixed(this.x.values, at)), y = level(this.panel, mixed(this.y.values, at));
    context.lineTo(x, y);
    Object.assign(context, {strokeStyle: theme.get("impact"), lineWidth: 2.2, lineJoin: "round"});
    context.stroke();
    dot(context, x, y, theme.get("impact"), 4.5);
  }

  /** The record nearest to the pointer. */
  hover(run, x, y) {
    let best = -1, distance = 900;
    for (let i = 0; i < this.x.values.length; i++) {
      const d = (this.px(this.x.values[i]) - x) ** 2 + (level(this.panel, this.y.values[i]) - y) ** 2;
      if (d < distance) { distance = d; best = i; }
    }
    if (best < 0) return null;
    const t = run.history.t[best], line = (c) => `${spoken(c.name)}  ${figure(c.values[best], 5)} ${unitText(c.unit)}`;
    return {t, text: [`t  ${clockText(t, run.t1 - run.t0)}`, line(this.x), line(this.y)].join("\n")};
  }
}

/** One band per contact, coloured by state, with a tick at every impact. */
/** Contacts with a band: the first ten; of many, the first ten that touch at all. */
function bandsOf({contacts, impactsOf}) {
  const touches = contacts.length <= FEW_CONTACTS ? contacts : contacts.filter(({state}, k) => state.some((s) => s) || impactsOf[k].t.length);
  return touches.slice(0, 10);
}

const FEW_CONTACTS = 8;

class Ribbon extends Plot {
  layout(run, width) {
    this.rows = bandsOf(run);
    const names = document.createElement("canvas").getContext("2d");
    names.font = "11px system-ui, sans-serif";
    const widest = Math.max(0, ...this.rows.map((c) => names.measureText(c.name).width));
    this.left = this.rows.length ? Math.min(110, widest + 12) : 0;
    this.span = [run.t0, run.t1];
    this.right = width - 8;
  }

  px(t) { return this.left + ((t - this.span[0]) / (this.span[1] - this.span[0] || 1)) * (this.right - this.left); }
  time(x) { return this.span[0] + ((x - this.left) / (this.right - this.left)) * (this.span[1] - this.span[0]); }

  background(context, run) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    if (!this.rows.length) {
      context.fillStyle = theme.get("faint");
      context.fillRect(this.left, 7, this.right - this.left, 6);
    }
    this.rows.forEach((contact, row) => {
      const y = 3 + 15 * row;
      context.fillStyle = theme.get("soft");
      context.textAlign = "left";
      context.fillText(contact.name, 0, y + 6, this.left - 6);
      context.fillStyle = theme.get("faint");
      context.fillRect(this.left, y, this.right - this.left, 11);
      this.bands(context, contact, y);
      context.fillStyle = theme.get("impact");
      for (const t of run.impactsOf[run.contacts.indexOf(contact)].t) context.fillRect(this.px(t) - 0.5, y - 1, 1.2, 13);
    });
  }

  bands(context, contact, y) {
    for (let i = 0; i < contact.start.length; i++) {
      const state = contact.state[i];
      if (!state || state === IMPACT) continue;
      const a = this.px(contact.start[i]), b = this.px(contact.start[i + 1] ?? this.span[1]);
      context.fillStyle = theme.get(STATES[state]);
      context.fillRect(a, y, Math.max(b - a, 0.6), 11);
    }
  }

  foreground(context, run, t) {
    const x = this.px(t), bottom = this.height - 1;
    vertical(context, x, 0, bottom, theme.get("ink"));
    dot(context, x, bottom - 4, theme.get("accent"), 5);
  }
}

/** The curve of another run that shows what this one shows, or nothing. */
function alike(run, curve) { return run?.curves.find((other) => other.group === curve.group && other.name === curve.name && other.unit === curve.unit); }

/** Draw what belongs to the run that is compared with: faint, within the panel. */
function asBefore(context, panel, draw) {
  context.save();
  context.beginPath();
  context.rect(panel.left, panel.top - 2, panel.right - panel.left, panel.bottom - panel.top + 4);
  context.clip();
  context.globalAlpha = 0.38;
  context.setLineDash([5, 4]);
  draw();
  context.restore();
}

// ---- parts of plots ----------------------------------------------------------------------------------------------

function level(panel, y) {
  return panel.bottom - ((y - panel.low) / (panel.high - panel.low)) * (panel.bottom - panel.top);
}

/** Multiples of a round step within an interval, about as many as wanted but never fewer than two: one alone is no scale. */
function ticks(low, high, wanted) {
  const span = high - low, found = {at: [], step: 1};
  if (!(span > 1e-12 * Math.max(Math.abs(low), Math.abs(high)))) return found; // no number lies between
  for (let step = roundStep(span / wanted); found.at.length < 2; step = roundStep(0.4 * step)) {
    Object.assign(found, {at: [], step});
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * span; k++) found.at.push(k === 0 ? 0 : k * step);
  }
  return found;
}

/** The least of 1, 2, 5 times a power of ten that is not below x. */
function roundStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].find((k) => k * power >= x * (1 - 1e-9)) * power;
}

function tickText(x, step) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-4) return figure(x, 2);
  return x.toFixed(Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9)))).replace("-", "−");
}

function grid(context, panel, span, label) {
  const {left, right, top, bottom} = panel;
  context.font = "10.5px system-ui, sans-serif";
  context.strokeStyle = theme.get("faint");
  context.fillStyle = theme.get("soft");
  context.lineWidth = 1;
  const rows = ticks(panel.low, panel.high, Math.max(2, (bottom - top) / 34));
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const y of rows.at) {
    horizontal(context, left, right, level(panel, y));
    context.fillText(tickText(y, rows.step), left - 6, level(panel, y));
  }
  const columns = ticks(span[0], span[1], Math.max(2, (right - left) / 90));
  context.textAlign = "center";
  const room = label ? 30 : 0; // for the name of the axis
  for (const x of columns.at) {
    const at = left + ((x - span[0]) / (span[1] - span[0])) * (right - left);
    vertical(context, at, top, bottom, theme.get("faint"));
    if ((label !== null || panel.x) && at < right - room) context.fillText(tickText(x, columns.step), at, bottom + 11);
  }
  context.textAlign = "right";
  if (label) context.fillText(label, right, bottom + 11);
}

function horizontal(context, x0, x1, y) {
  context.beginPath();
  context.moveTo(x0, Math.round(y) + 0.5);
  context.lineTo(x1, Math.round(y) + 0.5);
  context.stroke();
}

function vertical(context, x, y0, y1, colour) {
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, y0);
  context.lineTo(Math.round(x) + 0.5, y1);
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.stroke();
}

function trace(context, plot, panel, xs, ys, colour, width = 1.5) {
  context.save();
  context.beginPath();
  context.rect(panel.left, panel.top - 4, panel.right - panel.left, panel.bottom - panel.top + 8);
  context.clip();
  context.beginPath();
  let pen = false;
  for (let i = 0; i < xs.length; i++) {
    const y = ys[i];
    if (y !== y) { pen = false; continue; }
    const px = plot.px(xs[i]), py = level(panel, y);
    if (pen) context.lineTo(px, py); else context.moveTo(px, py);
    pen = true;
  }
  Object.assign(context, {strokeStyle: theme.get(colour), lineWidth: width, lineJoin: "round"});
  context.stroke();
  context.restore();
}

function dot(context, x, y, colour, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
  Object.assign(context, {strokeStyle: theme.get("card"), lineWidth: 1.2});
  context.stroke();
}

/** A name with its index set lower, and its unit; returns the width. */
function symbolText(context, curve, x, y, align = "left", more = "") {
  const {head, index, word} = symbol(curve.name), unit = curve.unit ? ` [${unitText(curve.unit)}]` : "";
  const fonts = [`${word ? "" : "italic "}12px system-ui, sans-serif`, "9.5px system-ui, sans-serif", "11px system-ui, sans-serif"];
  const parts = [head, index, unit + more], widths = parts.map((part, i) => { context.font = fonts[i]; return context.measureText(part).width; });
  const whole = widths[0] + widths[1] + widths[2];
  let at = align === "right" ? x - whole : x;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  parts.forEach((part, i) => {
    context.font = fonts[i];
    context.fillText(part, at, y + (i === 1 ? 3 : 0));
    at += widths[i];
  });
  return whole;
}

/** Names of a panel's curves with their values now. */
function panelTitle(context, panel, at) {
  let x = panel.left;
  const kind = ["coordinate", "velocity"].includes(panel.group) ? "" : `${panel.group}: `;
  if (kind) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = theme.get("soft");
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText(kind, x, panel.top - 6);
    x += context.measureText(kind).width;
  }
  panel.curves.forEach((curve, k) => {
    if (x > panel.right - 90) return;
    context.fillStyle = theme.get(SERIES[k % SERIES.length]);
    x += symbolText(context, {name: curve.name, unit: ""}, x, panel.top - 6, "left", ` ${figure(mixed(curve.values, at), 4)} ${unitText(curve.unit)}`) + 16;
  });
}
