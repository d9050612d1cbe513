// ---- data: payloads with typed arrays, time, names and numbers as people read them ------------------------------

const FORMAT = 2;
const STATES = ["open", "stick", "slip-plus", "slip-minus", "impact", "closed"];
const STATE_WORDS = ["open", "stick", "slip +", "slip −", "impact", "closed"];
const STATE_MEANINGS = ["apart", "touches without slip: it sticks, or rolls", "slides, in the positive direction", "slides, in the negative direction", "an impulse in an instant", "touches, without friction"];
const IMPACT = 4;

/** Replace packed arrays anywhere in a payload by typed arrays. */
function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if ("f32" in value) return new Float32Array(bytes(value.f32).buffer);
  if ("i16" in value) return fromShorts(value);
  if ("u8" in value) return bytes(value.u8);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
}

/** Rows of numbers that came as 16 bits each: middle + step * code, by columns. */
function fromShorts({i16, middle, step}) {
  const codes = new Int16Array(bytes(i16).buffer), found = new Float32Array(codes.length), width = step.length;
  for (let i = 0, k = 0; i < codes.length; i++, k = k + 1 === width ? 0 : k + 1) found[i] = codes[i] === -32768 ? NaN : middle[k] + step[k] * codes[i];
  return found;
}

function bytes(text) {
  const binary = atob(text), found = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) found[i] = binary.charCodeAt(i);
  return found;
}

/** Number of the last entry of a rising array that is not above x; 0 where all are. */
function before(values, x) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Place of time t among frames: the frame before, the one after, and the part of the way between them. */
function between(times, t) {
  const i = Math.min(before(times, t), times.length - 1), j = Math.min(i + 1, times.length - 1);
  const span = times[j] - times[i];
  return {i, j, s: span > 0 ? Math.min(1, Math.max(0, (t - times[i]) / span)) : 0};
}

function mixed(values, at, width = 1, k = 0) {
  const a = values[at.i * width + k], b = values[at.j * width + k];
  if (Number.isNaN(a)) return at.s > 0.999 ? b : NaN;
  return Number.isNaN(b) ? a : a + at.s * (b - a);
}

/** Smooth course of a coordinate, so that a view that follows it leaves its jerks visible. */
function smoothed(values, times) {
  const reach = 0.12 * (times[times.length - 1] - times[0]), found = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    let sum = 0, weight = 0;
    const own = Math.min(reach, times[i] - times[0], times[times.length - 1] - times[i]);
    for (let j = i; j >= 0 && times[i] - times[j] <= own; j--) { const w = gapAt(times, j); sum += w * values[j]; weight += w; }
    for (let j = i + 1; j < values.length && times[j] - times[i] <= own; j++) { const w = gapAt(times, j); sum += w * values[j]; weight += w; }
    found[i] = weight > 0 ? sum / weight : values[i];
  }
  return found;
}

/** The body of a scene whose contacts are number k, where it is round: it may roll where others stick. */
function roundBody(run, k) {
  const motion = run.motion, solids = motion?.kind === "space";
  if (!motion || (!solids && motion.kind !== "plane")) return null;
  const body = (solids ? motion.bodies : motion.shapes).find((each) => each.channel === k);
  const parts = body?.solids ?? body?.items ?? [];
  return parts.length && parts.every((part) => part.kind === (solids ? "sphere" : "circle")) ? body : null;
}

/** Whether a round body moves along at time t: by more than a thousandth of the picture's size in the time of the run. */
function rolls(run, k, t) {
  const body = roundBody(run, k);
  if (!body) return false;
  const {motion} = run, at = between(motion.t, t), i = Math.max(0, Math.min(at.i, motion.t.length - 2));
  const place = (frame) => {
    if (motion.kind === "plane") return [0, 1].map((axis) => (body.moving.includes(axis) ? body.track[frame * body.moving.length + body.moving.indexOf(axis)] : 0));
    const moving = motion.bodies.filter((each) => each.channel >= 0), from = 7 * (frame * moving.length + moving.indexOf(body));
    return [motion.poses[from], motion.poses[from + 1], motion.poses[from + 2]];
  };
  const [x, y] = [place(i), place(i + 1)], [low, high] = motion.box ? [motion.box.slice(0, 3), motion.box.slice(3)] : [[motion.view[0], motion.view[2]], [motion.view[1], motion.view[3]]];
  const way = Math.hypot(...x.map((v, a) => y[a] - v)), size = Math.hypot(...low.map((v, a) => high[a] - v));
  return way * (run.t1 - run.t0) > 1e-3 * size * (motion.t[i + 1] - motion.t[i]);
}

/** Height of the view at each frame: smooth, and never so far from what it follows that this leaves the picture. */
function followed({follow, t, view: [, , y0, y1]}) {
  const camera = smoothed(follow, t), reach = 0.1 * (y1 - y0);
  return camera.map((y, i) => Math.min(follow[i] + reach, Math.max(follow[i] - reach, y)));
}

function gapAt(times, j) {
  const a = times[Math.max(0, j - 1)], b = times[Math.min(times.length - 1, j + 1)];
  return Math.max(b - a, 1e-12);
}

/** State of a contact at time t: an impact is held for a moment, since it takes no time itself. */
function stateAt(run, k, t, hold) {
  if (strongImpact(run, k, t, hold) >= 0) return IMPACT;
  const contact = run.contacts[k], state = contact.state[before(contact.start, t)];
  return state === IMPACT ? 0 : state;
}

/** Number of the latest impact of contact k within the time `hold` before t that is not weak beside others, or -1. */
function strongImpact(run, k, t, hold) {
  const own = run.impactsOf[k];
  if (!own.t.length) return -1;
  for (let i = before(own.t, t); i >= 0 && own.t[i] > t - hold && own.t[i] <= t; i--)
    if (own.normal[i] >= 0.01 * own.strongest) return i;
  return -1;
}

/** A payload ready to be shown. */
function prepared(raw) {
  if (!raw || raw.format !== FORMAT) throw new Error("this data was made for another version of the page");
  const run = unpacked(raw);
  run.t0 = run.history.t[0];
  run.t1 = run.history.t[run.history.t.length - 1];
  run.impactsOf = run.contacts.map((_, k) => impactsOf(run.impacts, k));
  run.curves = run.history.curves.map((curve, number) => ({...curve, number, unit: curve.unit === "1" ? "" : curve.unit}));
  for (const curve of run.curves) Object.assign(curve, extent(withoutRounding(curve, run.curves)));
  run.strongest = Math.max(1e-300, ...run.impactsOf.map((own) => own.strongest));
  run.force = typicalForce(run);
  if (run.motion) shareSolids(run.motion);
  if (run.motion && run.motion.follow) run.motion.camera = followed(run.motion);
  return run;
}

/** Solids by their numbers: bodies of one shape have one solid. */
function shareSolids(motion) {
  for (const body of motion.bodies ?? []) body.solids = body.solids.map((number) => motion.solids[number]);
  return motion;
}

function impactsOf(impacts, k) {
  const own = {t: [], normal: [], tangential: [], strongest: 0};
  for (let i = 0; i < impacts.t.length; i++) if (impacts.contact[i] === k) {
    own.t.push(impacts.t[i]);
    own.normal.push(impacts.normal[i]);
    own.tangential.push(impacts.tangential[i]);
    own.strongest = Math.max(own.strongest, Math.abs(impacts.normal[i]));
  }
  return own;
}

/** Rounding shown as the zero it stands for: far below all curves of the same kind, or below what a motion can be. */
function withoutRounding(curve, curves) {
  const kin = curves.filter((other) => other.group === curve.group), alike = kin.filter((other) => other.unit === curve.unit);
  const most = ({values}) => { const {low, high} = extent(values); return Math.max(-low, high); };
  curve.scale = alike[0].scale ?? Math.max(...alike.map(most));
  curve.whole = kin[0].whole ?? Math.max(...kin.map(most)); // of all units: turns of 1e-12 rad/s beside 6 m/s are none
  const least = Math.max(1e-12 * curve.scale, ["coordinate", "velocity"].includes(curve.group) ? Math.max(1e-12, 1e-12 * curve.whole) : 0), {values} = curve;
  for (let i = 0; i < values.length; i++) if (Math.abs(values[i]) < least) values[i] = 0;
  return values;
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) if (x === x) { if (x < low) low = x; if (x > high) high = x; }
  return low <= high ? {low, high} : {low: 0, high: 0};
}

/** A force that most forces of the run do not exceed [N]. */
function typicalForce(run) {
  const all = [];
  for (const curve of run.curves) if (curve.group.endsWith("force"))
    for (const x of curve.values) if (x === x && x !== 0) all.push(Math.abs(x));
  if (!all.length) return 1;
  all.sort((a, b) => a - b);
  return all[Math.floor(0.95 * (all.length - 1))];
}

// ---- names and numbers -------------------------------------------------------------------------------------------

const GREEK = {th: "θ", phi: "φ", theta: "θ", psi: "ψ", alpha: "α", beta: "β", gamma: "γ", omega: "ω", delta: "δ", xi: "ξ", eps: "ε", mu: "μ", Omega: "Ω", Phi: "Φ", Theta: "Θ", Psi: "Ψ", Delta: "Δ", Gamma: "Γ"};

/** Head and index of a name that is a symbol (phi_M), or the words of one that is not. */
function symbol(name) {
  const [head, ...tail] = name.split("_");
  if (!(head.length <= 2 || head in GREEK)) return {head: name.replaceAll("_", " "), index: "", word: true};
  return {head: GREEK[head] ?? head, index: tail.map((part) => GREEK[part] ?? part).join(","), word: false};
}

function spoken(name) {
  const {head, index} = symbol(name);
  return index ? `${head} ${index}` : head;
}

function symbolNodes(name) {
  const {head, index, word} = symbol(name), first = document.createElement(word ? "span" : "i");
  first.textContent = head;
  if (!index) return [first];
  const below = document.createElement("sub");
  below.textContent = index;
  return [first, below];
}

function unitText(unit) {
  return unit.replace(/\^(\d)/g, (_, digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).replaceAll(" ", " ");
}

/** A number with so many digits, as people write it. */
function figure(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(digits - 1) : x.toPrecision(digits);
  const [base, power] = text.split("e");
  const short = base.includes(".") ? base.replace(/\.?0+$/, "") : base;
  return (power ? `${short}e${power.replace("+", "")}` : short).replaceAll("-", "−");
}

function duration(seconds) { return seconds < 1 ? `${figure(1000 * seconds, 3)} ms` : `${figure(seconds, 3)} s`; }

function clockText(t, span) {
  const digits = Math.min(6, Math.max(2, Math.ceil(3 - Math.log10(span))));
  return `${t.toFixed(digits)} s`.replace("-", "−");
}

function element(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") found.className = value;
    else if (key in found && typeof value !== "string") found[key] = value;
    else found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

const byId = (id) => document.getElementById(id);

/** Colours of the theme by name; read again when the theme changes. */
const theme = {
  values: new Map(),
  get(name) {
    if (!this.values.has(name))
      this.values.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    return this.values.get(name);
  },
};

/** A canvas in device pixels with a context that counts in CSS pixels. */
function surface(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2.5), {clientWidth: width, clientHeight: height} = canvas;
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return {context, width, height, ratio};
}
