// ---- stage: planar mechanisms on a canvas, to scale; contacts that light up, arrows and cones ---------------------

const FILLED = {
  ground: {fill: "ground", hatch: true}, wood: {fill: "wood"}, body: {fill: "body", line: "outline"},
  "body-light": {fill: "body-light"}, "body-dark": {fill: "body-dark"}, accent: {fill: "red"},
  joint: {fill: "card", line: "outline"}, guide: {fill: "faint"}, edge: {fill: "edge"}, spring: {fill: "spring"},
};
const STROKED = {
  edge: ["edge", 1.3], spring: ["spring", 1.7], guide: ["guide", 1], "body-light": ["body-light", 2], label: ["soft", 1],
};
const INSTANTS = 10; // of a run, to see what the clock would hide
const HELD = 0.22; // seconds of the viewer's time that an impact stays lit

class PlaneStage {
  constructor(canvas) {
    this.canvas = canvas;
    this.zoom = 1;
    this.shift = [0, 0];
  }

  fit() { this.zoom = 1; this.shift = [0, 0]; }

  drag(dx, dy) {
    this.shift[0] -= dx / this.scale;
    this.shift[1] += dy / this.scale;
  }

  /** Zoom by a factor about a point of the canvas. */
  magnify(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(4000, Math.max(0.05, this.zoom * factor)), ratio = zoom / this.zoom;
    const dx = (x - this.width / 2) / this.scale, dy = -(y - this.height / 2) / this.scale;
    this.shift[0] += dx * (1 - 1 / ratio);
    this.shift[1] += dy * (1 - 1 / ratio);
    this.zoom = zoom;
  }

  draw(run, t, options) {
    const {context, width, height} = surface(this.canvas), motion = run.motion;
    Object.assign(this, {context, width, height});
    context.clearRect(0, 0, width, height);
    const at = between(motion.t, t), [x0, x1, y0, y1] = motion.view;
    const lift = motion.camera ? mixed(motion.camera, at) : 0;
    // A canvas that is not laid out yet has no height; circles have no negative radius.
    this.scale = this.zoom * Math.min(width / (x1 - x0), Math.max(1, height - 16) / (y1 - y0));
    this.centre = [(x0 + x1) / 2 + this.shift[0], (y0 + y1) / 2 + lift + this.shift[1]];
    const marks = [];
    if (options.earlier?.motion?.kind === "plane") this.ghost(options.earlier, t);
    for (const shape of motion.shapes) {
      const values = this.values(shape, at);
      if (values === null) continue;
      if (shape.kind === "marker") marks.push([shape.contact, values]);
      else this.shape(shape, values, shape.channel >= 0 ? stateAt(run, shape.channel, t, HELD * options.speed) : 0);
    }
    for (const [k, values] of marks) this.contact(run, k, values, t, options);
    drawOver(context, run, t, options, ([x, y]) => [this.x(x), this.y(y)]);
    if (!options.bare) this.scaleBar();
  }

  /** Points of the screen within a rectangle on which something is drawn, on average of some instants of a run. */
  covered(run, {left, top, width, height}) {
    const own = this.canvas.getBoundingClientRect();
    let points = 0;
    for (let k = 0; k < INSTANTS; k++) {
      this.draw(run, run.t0 + (k / (INSTANTS - 1)) * (run.t1 - run.t0), {speed: 1});
      const ratio = this.canvas.width / this.width, [x, y, w, h] = [left - own.left, top - own.top, width, height].map((v) => Math.round(v * ratio));
      const {data} = this.context.getImageData(x, y, Math.max(1, w), Math.max(1, h));
      for (let i = 3; i < data.length; i += 4) points += data[i] > 0;
    }
    return points / (INSTANTS * (this.canvas.width / this.width) ** 2);
  }

  /** Bodies of the run that is compared with, faint, at the same instant. */
  ghost(run, t) {
    const at = between(run.motion.t, Math.min(t, run.t1));
    this.context.globalAlpha = 0.3;
    for (const shape of run.motion.shapes) if (shape.kind !== "marker" && shape.kind !== "ruler" && shape.moving.length) {
      const values = this.values(shape, at);
      if (values !== null) this.shape(shape, values, 0);
    }
    this.context.globalAlpha = 1;
  }

  /** The moving body at a point of the canvas: its name, the point in its own frame, and how a hand's place is told. */
  pick(run, t, px, py) {
    if (!this.context) return null;
    const at = between(run.motion.t, t), ratio = this.canvas.width / this.width;
    const world = (x, y) => [(x - this.width / 2) / this.scale + this.centre[0], (this.height / 2 - y) / this.scale + this.centre[1]];
    for (const shape of run.motion.shapes.toReversed()) {
      const values = shape.kind === "group" && shape.moving.length && (shape.channel ?? 0) >= 0 ? this.values(shape, at) : null;
      if (values === null || !this.covers(shape, values, px, py, ratio)) continue;
      const [ox, oy, c, s] = values, [x, y] = world(px, py), size = c * c + s * s, scene = shape.channel !== undefined;
      const point = [(c * (x - ox) + s * (y - oy)) / size, (c * (y - oy) - s * (x - ox)) / size], from = [x, y];
      return {body: shape.name, point, scene, world, target: (to) => (scene ? to.map((v, k) => v - from[k]) : to)};
    }
    return null;
  }

  /** Whether a body covers a point of the canvas, or comes within some pixels of it. */
  covers(shape, [ox, oy, c, s], px, py, ratio) {
    const place = (x, y) => [this.x(ox + c * x - s * y), this.y(oy + s * x + c * y)], context = this.context;
    return shape.items.some((item) => {
      if (item.kind === "circle") this.circle(item.values, place, Math.hypot(c, s));
      else if (item.kind === "polygon" || item.kind === "polyline") this.path(item.values, place);
      else return false;
      if (item.kind === "polygon") context.closePath();
      this.spoke = null;
      context.lineWidth = 10; // thin bodies have to be met, too
      return (item.kind !== "polyline" && context.isPointInPath(px * ratio, py * ratio)) || context.isPointInStroke(px * ratio, py * ratio);
    });
  }

  /** Numbers that place a shape at an instant, or null while it is not there. */
  values(shape, at) {
    const moving = shape.moving, width = moving.length;
    if (!width) return shape.values;
    const values = shape.now ??= shape.values.slice();
    for (let k = 0; k < width; k++) {
      const x = mixed(shape.track, at, width, k);
      if (Number.isNaN(x)) return null;
      values[moving[k]] = x;
    }
    return values;
  }

  x(x) { return this.width / 2 + (x - this.centre[0]) * this.scale; }
  y(y) { return this.height / 2 - (y - this.centre[1]) * this.scale; }

  shape(shape, v, state) {
    if (shape.kind !== "group") { this.primitive(shape, v, (x, y) => [this.x(x), this.y(y)], 1, 0); return; }
    const [ox, oy, c, s] = v;
    const place = (x, y) => [this.x(ox + c * x - s * y), this.y(oy + s * x + c * y)];
    for (const item of shape.items) this.primitive(item, item.values, place, Math.hypot(c, s), state);
  }

  primitive(shape, v, place, scale, state) {
    const context = this.context;
    switch (shape.kind) {
      case "polygon": this.path(v, place); context.closePath(); this.fill(shape.style, state); break;
      case "polyline": this.path(v, place); this.stroke(shape.style); break;
      case "circle": this.circle(v, place, scale); this.fill(shape.style, state); break;
      case "spring": this.spring(shape, v, place); this.stroke(shape.style); break;
      case "text": this.text(shape, place(v[0], v[1])); break;
      case "ruler": this.ruler(shape, v); break;
    }
  }

  path(v, place) {
    const context = this.context;
    context.beginPath();
    for (let i = 0; i < v.length; i += 2) {
      const [x, y] = place(v[i], v[i + 1]);
      if (i) context.lineTo(clamp(x), clamp(y)); else context.moveTo(clamp(x), clamp(y));
    }
  }

  circle(v, place, scale) {
    const [x, y] = place(v[0], v[1]);
    this.context.beginPath();
    this.context.arc(clamp(x), clamp(y), Math.min(v[2] * scale * this.scale, 1e5), 0, 2 * Math.PI);
    if (v[2] * this.scale > 7) this.spoke = [place(v[0], v[1]), place(v[0] + v[2], v[1])];
  }

  fill(style, state) {
    const context = this.context, look = FILLED[style] ?? {fill: "line", line: "outline"};
    context.fillStyle = state ? mixedColour(theme.get(look.fill), theme.get(STATES[state]), 0.55) : theme.get(look.fill);
    context.fill();
    if (look.hatch) { context.fillStyle = this.hatch(); context.fill(); }
    if (look.line) this.line(look.line, 1);
    if (this.spoke && style === "body") { // so that a disk is seen to turn
      context.beginPath();
      context.moveTo(...this.spoke[0]);
      context.lineTo(...this.spoke[1]);
      this.line("outline", 1);
    }
    this.spoke = null;
  }

  stroke(style) { this.line(...(STROKED[style] ?? ["outline", 1.5])); }

  line(colour, width) {
    const context = this.context;
    Object.assign(context, {strokeStyle: theme.get(colour), lineWidth: width, lineJoin: "round", lineCap: "round"});
    context.stroke();
  }

  hatch() {
    const colour = theme.get("hatch");
    if (this.hatched?.colour === colour) return this.hatched.pattern;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 10;
    const context = tile.getContext("2d");
    context.strokeStyle = colour;
    context.lineWidth = 1;
    for (const shift of [-10, 0, 10]) { context.moveTo(shift, 10); context.lineTo(shift + 10, 0); }
    context.stroke();
    this.hatched = {colour, pattern: this.context.createPattern(tile, "repeat")};
    return this.hatched.pattern;
  }

  /** A coil along a curve from start to end that bends at via, as `Spring.wire` of the model layer. */
  spring(shape, v, place) {
    const [ax, ay] = place(v[0], v[1]), [bx, by] = place(v[2], v[3]), [mx, my] = place(v[4], v[5]);
    const half = 0.5 * v[6] * this.scale, n = 14 * shape.coils, context = this.context;
    context.beginPath();
    for (let i = 0; i <= n; i++) {
      const s = i / n, r = 1 - s;
      const x = r * r * ax + 2 * s * r * mx + s * s * bx, y = r * r * ay + 2 * s * r * my + s * s * by;
      const tx = 2 * r * (mx - ax) + 2 * s * (bx - mx), ty = 2 * r * (my - ay) + 2 * s * (by - my);
      const size = Math.hypot(tx, ty) || 1, inside = Math.min(1, Math.max(0, (s - 0.08) / 0.84));
      const wave = half * Math.sin(2 * Math.PI * shape.coils * inside);
      context.lineTo(x + (wave * ty) / size, y - (wave * tx) / size);
    }
  }

  text(shape, [x, y]) {
    const context = this.context;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = {left: "left", centre: "center", right: "right"}[shape.anchor] ?? "center";
    context.textBaseline = "middle";
    context.fillStyle = theme.get("soft");
    context.fillText(shape.text, x, y);
  }

  /** Ticks that stay in the world; every second one is long and has its number, the highest its unit. */
  ruler(shape, v) {
    const [x, low, high] = v, tick = shape.tick;
    let unit = shape.unit ? ` ${shape.unit}` : "";
    for (let k = Math.floor(high / tick); k >= Math.ceil(low / tick); k--) {
      const even = k % 2 === 0, y = this.y(k * tick);
      if (y < -9 || y > this.height + 9) continue;
      this.context.beginPath();
      this.context.moveTo(this.x(x), y);
      this.context.lineTo(this.x(x - (even ? 0.4 : 0.2) * tick), y);
      this.line("guide", 1);
      const number = +(shape.factor * k * tick).toPrecision(6);
      if (!even) continue;
      const named = y > 64; // below the clock, which would cover it
      this.text({text: `${number}${named ? unit : ""}`.replace("-", "−"), anchor: "right"}, [this.x(x - 0.52 * tick), y]);
      if (named) unit = "";
    }
  }

  /** A contact: ring while open, filled when closed, a burst at an impact, with cone and arrow. */
  contact(run, k, v, t, options) {
    const hold = HELD * options.speed, state = stateAt(run, k, t, hold), contact = run.contacts[k];
    const x = this.x(v[0]), y = this.y(v[1]), normal = unit(v[2], -v[3]);
    const turn = run.motion.turn[k] ?? 1, tangent = [normal[1] * turn, -normal[0] * turn];
    if (state && options.cones && contact.kind === "contact" && contact.friction !== null) {
      this.cone(x, y, normal, contact.friction, state); // a coefficient that depends on the state has no one cone
    }
    if (state && options.arrows) this.load(run, k, x, y, normal, tangent, t, hold);
    this.mark(x, y, state);
  }

  mark(x, y, state) {
    const context = this.context;
    if (state === IMPACT) this.burst(x, y);
    context.beginPath();
    if (state === 1) context.rect(x - 5, y - 5, 10, 10);
    else context.arc(x, y, state ? 5.5 : 4, 0, 2 * Math.PI);
    context.fillStyle = state ? theme.get(STATES[state]) : theme.get("stage");
    context.fill();
    this.line(state ? "stage" : "open", 1.4);
  }

  burst(x, y) {
    const context = this.context;
    context.beginPath();
    for (let i = 0; i < 8; i++) {
      const angle = (i * Math.PI) / 4 + 0.2;
      context.moveTo(x + 8 * Math.cos(angle), y + 8 * Math.sin(angle));
      context.lineTo(x + 15 * Math.cos(angle), y + 15 * Math.sin(angle));
    }
    this.line("impact", 2);
  }

  /** The friction cone: forces on the body lie within atan(mu) of the normal. */
  cone(x, y, normal, mu, state) {
    const context = this.context, length = 52, half = Math.atan(mu), middle = Math.atan2(normal[1], normal[0]);
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, length, middle - half, middle + half);
    context.closePath();
    context.globalAlpha = 0.16;
    context.fillStyle = theme.get(STATES[state]);
    context.fill();
    context.globalAlpha = 0.6;
    this.line(STATES[state], 1);
    context.globalAlpha = 1;
  }

  /** The arrow of the impulse at an impact, else of the force; lengths compare within each kind. */
  load(run, k, x, y, normal, tangent, t, hold) {
    const hit = strongImpact(run, k, t, hold), own = run.impactsOf[k];
    let N, T, size;
    if (hit >= 0) { N = own.normal[hit]; T = own.tangential[hit]; size = 84 / run.strongest; }
    else { [N, T] = forceAt(run, k, t); size = 44 / run.force; }
    let dx = size * (N * normal[0] + T * tangent[0]), dy = size * (N * normal[1] + T * tangent[1]);
    const length = Math.hypot(dx, dy), most = hit >= 0 ? 84 : 66;
    if (!(length > 2)) return;
    if (length > most) { dx *= most / length; dy *= most / length; }
    this.arrow(x, y, x + dx, y + dy, hit >= 0 ? "impact" : "ink", hit >= 0 ? 3.2 : 2);
  }

  /** An arrow with a rim in the colour of the stage, so that it is seen on dark bodies, too. */
  arrow(x0, y0, x1, y1, colour, width) {
    const context = this.context, angle = Math.atan2(y1 - y0, x1 - x0), head = 4 + 2 * width;
    const shaft = () => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1 - 0.7 * head * Math.cos(angle), y1 - 0.7 * head * Math.sin(angle));
    };
    const tip = () => {
      context.beginPath();
      context.moveTo(x1, y1);
      for (const side of [-0.42, 0.42])
        context.lineTo(x1 - head * Math.cos(angle + side), y1 - head * Math.sin(angle + side));
      context.closePath();
    };
    shaft();
    this.line("stage", width + 3);
    tip();
    this.line("stage", 3);
    shaft();
    this.line(colour, width);
    tip();
    context.fillStyle = theme.get(colour);
    context.fill();
  }

  scaleBar() {
    const metres = niceBelow(110 / this.scale), pixels = metres * this.scale, context = this.context;
    const y = this.height - 14, x = this.width - 16 - pixels;
    context.beginPath();
    context.moveTo(x, y - 4); context.lineTo(x, y); context.lineTo(x + pixels, y); context.lineTo(x + pixels, y - 4);
    this.line("soft", 1.2);
    this.text({text: lengthText(metres), anchor: "centre"}, [x + pixels / 2, y - 9]);
  }
}

const clamp = (x) => Math.max(-1e5, Math.min(1e5, x));

function unit(x, y) {
  const size = Math.hypot(x, y) || 1;
  return [x / size, y / size];
}

/** Normal and tangential force of contact k around time t [N]. */
function forceAt(run, k, t) {
  const name = run.contacts[k].name, i = before(run.history.t, t);
  const found = ["normal force", "tangential force"].map((group) => {
    const curve = run.curves.find((c) => c.group === group && c.name === name);
    if (!curve) return 0;
    const j = Math.min(i + 1, curve.values.length - 1); // a record's impulse is that of the step before it
    return curve.values[j] === curve.values[j] ? curve.values[j] : 0;
  });
  return found;
}

function niceBelow(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [5, 2, 1].find((k) => k * power <= x) * power;
}

function lengthText(metres) {
  for (const [size, name] of [[1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "µm"]])
    if (metres >= 0.999 * size) return `${+(metres / size).toPrecision(3)} ${name}`;
  return `${+(metres * 1e9).toPrecision(3)} nm`;
}

/** A colour between two of the form #rrggbb. */
function mixedColour(a, b, part) {
  const parse = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
  const [x, y] = [parse(a), parse(b)];
  return `rgb(${x.map((v, i) => Math.round(v + part * (y[i] - v))).join(",")})`;
}
