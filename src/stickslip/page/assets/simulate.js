// ---- simulate: the mechanism of an exported page, computed by the kernels that the file holds -----------------------
// What `engines.Compiled`, `run.records` and `page.payload` do in Python, for one stepper.

const PIECE = 5000; // steps of one march
const DONE = 0, EVENTS_FULL = 1, EVENT_COLUMNS = 8;
const ENDINGS = {
  2: "a contact problem was not solved here; `stickslip run` has a second method for such a step",
  3: "the motion has blown up; try a smaller dt", 4: "the mass matrix is not positive definite",
  5: "a gap is not a number", 8: "a coefficient of a contact is out of range",
  10: "its constraints contradict one another",
};

const real = (value) => ({real: value});
const whole = (value) => ({whole: value});
const table = (data, ...shape) => ({data, shape});

async function loadKernels(source) {
  const made = {};
  for (const [name, {z, room, results}] of Object.entries(source.modules)) {
    const stream = new Blob([bytes(z)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const code = await new Response(stream).arrayBuffer();
    made[name] = {room, results, exports: (await WebAssembly.instantiate(code)).instance.exports};
  }
  return made;
}

/** Call a kernel: block of arguments, room for results, arrays behind it; arrays are written back. */
function callKernel({exports, room, results}, args) {
  const words = args.reduce((sum, {shape}) => sum + (shape ? 1 + shape.length : 1), 0);
  let end = room + 8 * (words + results.length);
  const places = args.map(({data}) => { const at = end; if (data) end += 8 * Math.ceil(data.byteLength / 8); return at; });
  const missing = end - exports.memory.buffer.byteLength;
  if (missing > 0) exports.memory.grow(Math.ceil(missing / 65536));
  const view = new DataView(exports.memory.buffer), raw = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let at = room;
  const put = (value) => { view.setBigInt64(at, BigInt(value), true); at += 8; };
  args.forEach((arg, i) => {
    if (arg.shape) { put(places[i]); arg.shape.forEach(put); new Uint8Array(exports.memory.buffer, places[i]).set(raw(arg.data)); }
    else if ("real" in arg) { view.setFloat64(at, arg.real, true); at += 8; }
    else put(arg.whole);
  });
  exports.run(room, end);
  const after = exports.memory.buffer, found = new DataView(after);
  args.forEach(({data}, i) => { if (data) raw(data).set(new Uint8Array(after, places[i], data.byteLength)); });
  return results.map((kind, k) => (kind === "float" ? found.getFloat64(at + 8 * k, true) : Number(found.getBigInt64(at + 8 * k, true))));
}

/** State of a run before its first step, as `simulate` prepares it, and the impulses of constraints for it. */
function started(kernels, source, {p, q0, u0, dt, changed, retuned, names}) {
  const n = source.kinds.length, {t0, depth} = source;
  const kept = {q: Float64Array.from(q0), u: Float64Array.from(u0), before: new Float64Array(n), sum: new Float64Array(2 * n),
    loaded: new BigInt64Array(n).fill(-10n), carried: new Float64Array(3 * n), reach: new Float64Array(n), drift: new Float64Array(n), book: new Float64Array(source.book.size)};
  const gap = new Float64Array(n), answers = new Float64Array(3 * n);
  const [status, corrected] = callKernel(kernels.start, [...stateOf(kept, source, p, dt), table(gap, n), table(answers, n, 3), real(depth), whole(changed ? 1 : 0)]);
  source.kinds.forEach((kind, k) => {
    if (kind === "contact" && !(gap[k] >= -depth)) throw new Error(`contact '${names[k]}' starts with a penetration of ${figure(-gap[k], 3)} m, more than ${depth} m; move the start`);
    if (kind === "constraint" && !retuned && !(Math.abs(gap[k]) <= depth)) throw new Error(`constraint '${names[k]}' starts with g = ${figure(gap[k], 3)}, which must be zero within ${depth}; move the start`);
  });
  if (status !== DONE) throw new Error(`this start cannot be taken: ${ENDINGS[status] ?? "it has no motion"}`);
  const rows = changed && corrected ? source.kinds.flatMap((kind, k) => (answers[3 * k] ? [[t0, k, 0, 0, 0, ...answers.subarray(3 * k, 3 * k + 3)]] : [])) : changed ? [] : source.first;
  const off = Math.max(0, ...source.kinds.map((kind, k) => (kind === "constraint" ? Math.abs(gap[k]) : 0)));
  return {kept, first: rows.map((row) => Float64Array.from(row)), shifted: off > depth};
}

/** What every kernel of a motion takes first. */
function stateOf(kept, source, p, dt) {
  const f = kept.q.length, n = kept.before.length;
  return [table(p, p.length), real(source.t0), real(dt), whole(source.sweeps), real(source.tolerance),
    table(kept.q, f), table(kept.u, f), table(kept.before, n), table(kept.sum, n, 2), table(kept.loaded, n), table(kept.carried, n, 3), table(kept.reach, n), table(kept.drift, n), table(kept.book, source.book.size)];
}

/** The steps of a run, and its records as long arrays: t, q, u, impulse, state, gap, energy; impacts; the book. */
function marched(kernels, source, wanted) {
  const {p, q0, dt, t_end} = wanted, f = q0.length, n = source.kinds.length, {t0, book: places} = source;
  const steps = Math.max(1, halfEven((t_end - t0) / dt));
  if (!(steps <= source.most_steps)) throw new Error(`${steps.toLocaleString("en")} steps are too many for a page, which takes ${source.most_steps.toLocaleString("en")}: enlarge dt or shorten t_end`);
  const every = Math.max(source.every, Math.ceil(steps / source.limits.records));
  const {kept, first: events, shifted} = started(kernels, source, wanted);
  const most = Math.floor(steps / every) + 3;
  const rows = {n: 1, t: new Float64Array(most), q: new Float64Array(most * f), u: new Float64Array(most * f), impulse: new Float64Array(most * 2 * n), state: new Int8Array(most * n)};
  rows.t[0] = t0;
  rows.q.set(kept.q);
  rows.u.set(kept.u);
  let step = 0, last = new Int8Array(n), status = DONE;
  while (step < steps && (status === DONE || status === EVENTS_FULL)) {
    const piece = Math.min(PIECE, steps - step), room = Math.floor(piece / every) + 2, strikes = piece * Math.max(1, n) + 2 * n + 1;
    const block = {q: new Float64Array(room * f), u: new Float64Array(room * f), impulse: new Float64Array(room * 2 * n), state: new Int8Array(room * n), events: new Float64Array(strikes * EVENT_COLUMNS)};
    block.state.set(last);
    let done, struck, records;
    [status, done, struck, records] = callKernel(kernels.march, [
      ...stateOf(kept, source, p, dt), table(block.q, room, f), table(block.u, room, f), table(block.impulse, room, n, 2), table(block.state, room, n), table(block.events, strikes, EVENT_COLUMNS),
      whole(piece), whole(every)]);
    step += done;
    const first = Math.floor(step / every) - records + 1;
    for (let i = 0; i < records; i++) rows.t[rows.n + i] = t0 + (first + i) * every * dt;
    for (const [name, width] of [["q", f], ["u", f], ["impulse", 2 * n], ["state", n]]) rows[name].set(block[name].subarray(0, records * width), rows.n * width);
    rows.n += records;
    for (let i = 0; i < struck; i++) events.push(block.events.slice(i * EVENT_COLUMNS, (i + 1) * EVENT_COLUMNS));
    last = block.state.slice(records * n, (records + 1) * n);
  }
  const now = t0 + step * dt;
  if (step % every && now > rows.t[rows.n - 1]) { // the last state is recorded even between two records
    const i = rows.n++;
    rows.t[i] = now;
    rows.q.set(kept.q, i * f);
    rows.u.set(kept.u, i * f);
    rows.impulse.set(kept.sum, i * 2 * n);
    rows.state.set(last, i * n);
  }
  const complete = status === DONE || status === EVENTS_FULL;
  if (!complete) kept.book[places.FAILED_STEPS] += 1;
  for (const [name, width] of [["t", 1], ["q", f], ["u", f], ["impulse", 2 * n], ["state", n]]) rows[name] = rows[name].slice(0, rows.n * width);
  Object.assign(rows, measured(kernels, rows.t, rows.q, rows.u, p, n));
  return {...rows, shifted, f, contacts: n, dt, every, steps: step, events, book: kept.book, complete,
    status: complete ? "finished" : `failed at t = ${+now.toPrecision(9)} s: ${ENDINGS[status] ?? "a step was not solved"}`};
}

/** Gaps (n, contacts) and energies (n, 2) of states. */
function measured(kernels, t, q, u, p, contacts) {
  const m = t.length, f = q.length / m, gap = new Float64Array(m * contacts), energy = new Float64Array(2 * m);
  callKernel(kernels.measure, [table(q, m, f), table(u, m, f), table(t, m), table(p, p.length), table(gap, m, contacts), table(energy, m, 2)]);
  return {gap, energy};
}

function halfEven(x) { const y = Math.round(x); return Math.abs(x - Math.trunc(x)) === 0.5 && y % 2 ? y - 1 : y; }

// ---- the payload of a run, as `page.payload` makes it ----------------------------------------------------------------

function single(length, value) { return Float32Array.from({length}, (_, i) => { const x = Math.fround(value(i)); return Number.isFinite(x) ? x : NaN; }); }

function orderBy(count, key) { return Array.from({length: count}, (_, i) => i).sort((a, b) => key(a) - key(b)); }

function firstNotBelow(values, x) {
  let low = 0, high = values.length;
  while (low < high) { const middle = (low + high) >> 1; if (values[middle] < x) low = middle + 1; else high = middle; }
  return low;
}

/** About `wanted` numbers of records, those before and after the strongest impacts among them. */
function sharpRows(run, wanted, sharp) {
  const n = run.t.length, m = Math.min(n, wanted), rows = new Set();
  for (let i = 0; i < m; i++) rows.add(i === m - 1 ? n - 1 : halfEven(i * ((n - 1) / (m - 1))));
  const strength = (i) => -(Math.abs(run.events[i][4]) + Math.abs(run.events[i][5]));
  for (const i of orderBy(run.events.length, strength).slice(0, Math.min(sharp, Math.floor(wanted / 4)))) {
    const after = Math.min(n - 1, firstNotBelow(run.t, run.events[i][0] - 1e-9 * run.dt));
    rows.add(after);
    rows.add(Math.max(after - 1, 0));
  }
  return [...rows].sort((a, b) => a - b);
}

function historyOf(run, recorded, source) {
  const {f, g = f, contacts} = run, {limits} = source, named = (group) => recorded.names[group].slice(0, limits.series);
  const count = 3 + Math.min(f, limits.series) + Math.min(g, limits.series) + 3 * Math.min(contacts, limits.series);
  const rows = sharpRows(run, Math.min(limits.points, Math.floor(limits.numbers / count)), limits.sharp), curves = [];
  const add = (name, group, unit, value) => curves.push({name, group, unit, values: single(rows.length, (i) => value(rows[i]))});
  named("coordinates").forEach(([name, unit], k) => add(name, "coordinate", unit, (i) => run.q[i * f + k]));
  named("velocities").forEach(([name, unit], k) => add(name, "velocity", unit, (i) => run.u[i * g + k]));
  const span = (i) => Math.max(run.t[i] - (i ? run.t[i - 1] : run.t[0] - run.dt), 1e-300);
  recorded.contacts.slice(0, limits.series).forEach(({name}, k) => {
    const held = ["constraint", "rate"].includes(source.kinds[k]), force = (side) => (i) => (run.state[i * contacts + k] === IMPACT ? NaN : run.impulse[(i * contacts + k) * 2 + side] / span(i));
    if (held) return add(name, "reaction", "N", force(1));
    if (source.kinds[k] !== "tangent") {
      if (rows.some((i) => Number.isFinite(run.gap[i * contacts + k]))) add(name, "gap", "m", (i) => run.gap[i * contacts + k]);
      add(name, "normal force", "N", force(0));
    }
    add(name, "tangential force", "N", force(1));
  });
  const energies = {kinetic: (i) => run.energy[2 * i], potential: (i) => run.energy[2 * i + 1], total: (i) => run.energy[2 * i] + run.energy[2 * i + 1]};
  for (const [name, value] of Object.entries(energies)) if (rows.some((i) => Number.isFinite(value(i)))) add(name, "energy", "J", value);
  return {t: single(rows.length, (i) => run.t[rows[i]]), curves};
}

function contactsOf(run, recorded, friction) {
  const n = run.contacts;
  return recorded.contacts.map((contact, k) => {
    const starts = [0];
    for (let i = 1; i + 1 < run.t.length; i++) if (run.state[(i + 1) * n + k] !== run.state[i * n + k]) starts.push(i);
    return {...contact, friction: contact.friction === null || !Number.isFinite(friction[k]) ? null : friction[k],
      start: single(starts.length, (i) => run.t[starts[i]]), state: Uint8Array.from(starts, (i) => run.state[(i + 1) * n + k])};
  });
}

function impactsIn(run, most) {
  const rows = orderBy(run.events.length, (i) => -Math.abs(run.events[i][4])).slice(0, most).sort((a, b) => a - b);
  const column = (k) => single(rows.length, (i) => run.events[rows[i]][k]);
  return {total: run.events.length, t: column(0), contact: rows.map((i) => run.events[i][1]), normal: column(4), tangential: column(5)};
}

/** Numbers of shapes at some records; what the kernel `frames` tells besides. */
function framesOf(kernels, source, run, rows, p) {
  const m = rows.length, {f, contacts} = run, pick = (values, width) => Float64Array.from({length: m * width}, (_, i) => values[rows[Math.floor(i / width)] * width + (i % width)]);
  const t = pick(run.t, 1), q = pick(run.q, f), u = pick(run.u, f), k = source.numbers;
  const places = new Float64Array(m * k), pushes = new Float64Array(m), laws = new Float64Array(4 * contacts);
  callKernel(kernels.frames, [table(q, m, f), table(u, m, f), table(t, m), table(p, p.length), table(places, m, k), table(pushes, m), table(laws, 4, contacts)]);
  return {t, q, pushes, laws, frames: m, at: (number, i) => (typeof number === "number" ? number : places[i * k + number.n])};
}

function motionOf(found, source, recorded) {
  const old = recorded.motion;
  if (!old) return null;
  const m = found.frames, f = source.q0.length, shapes = [];
  const tracked = ({values, marks, items, smooth, fits, ...what}) => {
    const rows = (number) => Array.from({length: m}, (_, i) => found.at(number, i));
    const columns = smooth ? null : values.map(rows), all = columns ?? smoothTracks(values.map(rows), smooth, m);
    const moving = all.flatMap((column, k) => (column.every((x) => x === column[0]) ? [] : [k]));
    const shape = {...what, values: all.map((column) => (Number.isFinite(column[0]) ? column[0] : 0)), moving, track: single(m * moving.length, (i) => all[moving[i % moving.length]][Math.floor(i / moving.length)])};
    if (items) shape.items = items.map((item) => fixedItem(item, found));
    shapes.push(shape);
    (marks ?? []).forEach(tracked);
  };
  source.shapes.forEach(tracked);
  return {...old, t: single(m, (i) => found.t[i]), shapes, view: source.fitted ? fittedView(source.shapes, found) : old.view,
    follow: source.follow === null ? null : single(m, (i) => found.q[i * f + source.follow])};
}

function fixedItem({values, smooth, fits, ...what}, found, i = 0) {
  const numbers = values.map((number) => found.at(number, i));
  return {...what, values: smooth ? smoothOutline(numbers, smooth) : numbers};
}

function smoothTracks(columns, pieces, frames) {
  const rows = Array.from({length: frames}, (_, i) => smoothOutline(columns.map((column) => column[i]), pieces));
  return rows[0].map((_, k) => rows.map((row) => row[k]));
}

/** A smooth closed outline through points, `pieces` each, as `drawing.smooth` makes it. */
function smoothOutline(v, pieces) {
  const n = v.length / 2, found = [];
  for (let i = 0; i < n; i++) for (let piece = 0; piece < pieces; piece++) for (const c of [0, 1]) {
    const s = piece / pieces, x = (k) => v[2 * ((i + k + n) % n) + c], a = x(-1), b = x(0), d = x(1), e = x(2);
    found.push(0.5 * (2 * b + s * (d - a) + s ** 2 * (2 * a - 5 * b + 4 * d - e) + s ** 3 * (3 * b - a - 3 * d + e)));
  }
  return found;
}

/** A view around all bodies, as `Drawing.fit` finds it. */
function fittedView(shapes, found) {
  const box = [Infinity, -Infinity, Infinity, -Infinity], some = Math.min(found.frames, 60);
  const see = (x, y) => { box[0] = Math.min(box[0], x); box[1] = Math.max(box[1], x); box[2] = Math.min(box[2], y); box[3] = Math.max(box[3], y); };
  const corners = (shape, i, place, scale) => {
    if (!shape.fits) return;
    const {values: v} = fixedItem(shape, found, i);
    if (shape.kind === "circle") { const [x, y] = place(v[0], v[1]), r = v[2] * scale; see(x - r, y - r); see(x + r, y + r); }
    else for (let k = 0; k + 1 < (shape.kind === "spring" ? 4 : ["marker", "text"].includes(shape.kind) ? 2 : v.length); k += 2) see(...place(v[k], v[k + 1]));
  };
  for (let k = 0; k < some; k++) {
    const i = k === some - 1 ? found.frames - 1 : Math.trunc(k * ((found.frames - 1) / (some - 1))), flat = (x, y) => [x, y];
    for (const shape of shapes) {
      if (shape.kind !== "group") { corners(shape, i, flat, 1); continue; }
      const [ox, oy, c, s] = shape.values.map((number) => found.at(number, i));
      for (const item of shape.items) corners(item, i, (x, y) => [ox + c * x - s * y, oy + s * x + c * y], Math.hypot(c, s));
      for (const mark of shape.marks) corners(mark, i, flat, 1);
    }
  }
  const room = 0.08 * Math.max(box[1] - box[0], box[3] - box[2]);
  return [box[0] - room, box[1] + room, box[2] - room, box[3] + room];
}

// ---- numbers of a run ------------------------------------------------------------------------------------------------

function numbersOf(run, found, source, recorded) {
  const {book, energy, dt} = run, at = source.book, m = run.t.length, total = (i) => energy[2 * i] + energy[2 * i + 1];
  let kinetic = 0, least = Infinity, largest = -Infinity, deepest = book[at.MAX_PENETRATION];
  for (let i = 0; i < m; i++) {
    kinetic = Math.max(kinetic, energy[2 * i]);
    least = Math.min(least, energy[2 * i + 1]);
    largest = Math.max(largest, energy[2 * i + 1]);
    source.kinds.forEach((kind, k) => { if (kind === "contact" && !(source.gated[k] && run.state[i * run.contacts + k] === 0)) deepest = Math.max(deepest, -run.gap[i * run.contacts + k]); });
  }
  const work = book[at.CONTACT_WORK], projection = book[at.PROJECTION_ENERGY], start = total(0), end = total(m - 1), integration = end - start - work - projection;
  const level = Number.isFinite(largest - least) ? 1e-10 * Math.max(Math.abs(least), Math.abs(largest)) : 0;
  const play = Math.max(kinetic, largest - least, Math.abs(work), 0.5 * dt * dt * found.pushes[0], level);
  const {share, gain, told} = shares(play), old = recorded.numbers, orNone = (x, unit = "") => (x === 0 ? "none" : `${powerText(x, 1)}${unit}`), forces = source.forced & 1;
  const values = [`${book[at.FAILED_STEPS]}`, orNone(book[at.MAX_RESIDUAL]) + (old.proof[1].value.match(/ \(tolerance.*/)?.[0] ?? ""), orNone(deepest, " m"), gain(book[at.MAX_ENERGY_GAIN]),
    forces ? (Number.isNaN(integration) ? "unknown" : share(integration) === 0 ? "none" : `${shortText(integration)} J`) : gain(integration)];
  const worth = [`${orNone(book[at.CONSTRAINT_ERROR])} (position), ${orNone(book[at.CONSTRAINT_RATE])} (velocity)`, gain(projection)];
  const special = source.special.map((entry, i) => ({...entry, value: worth[i]})).filter((_, i) => i === 0 || Math.abs(share(projection)) > 0.01);
  const notes = [], most = book[at.MAX_ENERGY_GAIN], resolution = Math.max(found.pushes[0], found.pushes[found.frames - 1]) * dt * dt;
  if (run.shifted) notes.push("other parameters move the start: it was brought back onto the constraints, and every coordinate moves as little as it can");
  if (most > 2 * resolution + 1e-12 * kinetic) notes.push(`the contacts of '${recorded.system}' put ${+most.toPrecision(3)} J in during the step to t = ${+(run.t[0] + book[at.GAIN_STEP] * dt).toPrecision(9)} s; unequal restitution coefficients can do that under Newton's law`);
  if (!forces && share(integration) > 0.01) notes.push(told(integration));
  else if (kinetic > 1000 * Math.max(energy[0], Math.abs(work), energy[1] - least, 1e-6 * Math.abs(energy[1]))) notes.push("the energy has grown a thousandfold: `stickslip run` says whether the steps made it up");
  const counts = Object.fromEntries(recorded.contacts.slice(0, source.limits.series).map(({name}, k) => [name, run.events.filter((row) => row[1] === k).length]));
  return {notes, numbers: {
    period: seenPeriod(run), impacts: counts,
    energy: {start, end, contacts: work, projection, integration, unexplained: end - start - (work + projection + integration)},
    certificate: {...old.certificate, failed_steps: book[at.FAILED_STEPS], max_residual: book[at.MAX_RESIDUAL], max_penetration: deepest, max_energy_gain: most, contact_work: work, projection_energy: projection, friction_rounds: book[at.FRICTION_ROUNDS], friction_contraction: book[at.FRICTION_CONTRACTION],
      max_constraint_error: book[at.CONSTRAINT_ERROR], max_constraint_rate: book[at.CONSTRAINT_RATE], integration_energy: integration, energy_in_play: play, fallbacks: book[at.FALLBACKS], max_lcp_size: book[at.MAX_LCP_SIZE]},
    proof: [...old.proof.slice(0, values.length).map((entry, i) => ({...entry, value: values[i]})), ...special],
  }};
}

/** Energies as shares of the energy in play, in words. */
function shares(play) {
  const share = (x) => { const s = x === 0 ? 0 : play !== 0 ? x / play : x * Infinity; return Math.abs(s) <= 1e-12 ? 0 : s; };
  const gain = (x) => { const s = share(x); return s === 0 ? "none" : Number.isFinite(s) ? `${shortText(100 * s)} %` : Number.isNaN(x) ? "unknown" : `${powerText(x, 1)} J`; };
  return {share, gain, told: (x) => `the steps put in ${shortText(100 * share(x))} % of the energy in play, try a smaller dt`};
}

function powerText(x, digits) { return x.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2"); }

/** Two digits of a number; all before the point where there are three to six. */
function shortText(x) {
  if (Math.abs(x) >= 99.5 && Math.abs(x) < 1e6) return Math.round(x).toLocaleString("en");
  const [base, power] = x.toExponential(1).split("e");
  if (+power < -4 || +power >= 2) return `${+base}e${power.replace(/^([+-])(\d)$/, "$10$2")}`;
  return `${+x.toPrecision(2)}`;
}

/** The period with which the velocities of the second half repeat themselves, as `analysis.seen_period` finds it. */
function seenPeriod({t, u, f}) {
  const m = t.length, n = Math.min(8192, m), begin = 0.5 * (t[0] + t[m - 1]), step = (t[m - 1] - begin) / (n - 1), series = [];
  if (m < 32 || !u.every(Number.isFinite) || !(t[m - 1] > t[0])) return null;
  for (let k = 0; k < f; k++) {
    const z = new Float64Array(n), column = Float64Array.from({length: m}, (_, i) => u[i * f + k]);
    for (let i = 0; i < n; i++) { const {i: a, j: b, s} = between(t, begin + i * step); z[i] = column[a] + s * (column[b] - column[a]); }
    const scale = centred(z), all = centred(column);
    if (scale > 1e-3 * all) series.push(z.map((x) => x / scale));
  }
  if (!series.length) return null;
  let size = 1;
  while (size < 2 * n) size *= 2;
  const power = new Float64Array(size), squares = new Float64Array(n + 1);
  for (const z of series) {
    const re = new Float64Array(size), im = new Float64Array(size);
    re.set(z);
    fourier(re, im);
    for (let i = 0; i < size; i++) power[i] += re[i] ** 2 + im[i] ** 2;
    for (let i = 0; i < n; i++) squares[i + 1] += z[i] ** 2;
  }
  fourier(power, new Float64Array(size)); // of a symmetric spectrum: the products, times `size`
  for (let i = 0; i < n; i++) squares[i + 1] += squares[i];
  const D = Float64Array.from({length: Math.floor(n / 2)}, (_, i) => { const both = squares[n - i - 1] + squares[n] - squares[i + 1]; return both > 0 ? 1 - (2 * power[i + 1]) / size / both : 1; });
  const away = D.findIndex((x) => x > 0.5), dips = [];
  if (away < 0) return null;
  for (let i = Math.max(1, away); i < D.length - 1; i++) if (D[i] <= D[i - 1] && D[i] < D[i + 1]) dips.push(i);
  const lowest = Math.min(...dips.map((i) => D[i]));
  if (!dips.length || lowest > 0.1) return null;
  const first = dips.find((i) => D[i] <= Math.max(2 * lowest, 0.02)), bend = D[first - 1] - 2 * D[first] + D[first + 1];
  return {value: (first + 1 + (bend > 0 ? (0.5 * (D[first - 1] - D[first + 1])) / bend : 0)) * step, difference: Math.max(D[first], 0)};
}

/** Take the mean off; returns the standard deviation. */
function centred(z) {
  const mean = z.reduce((a, b) => a + b, 0) / z.length;
  for (let i = 0; i < z.length; i++) z[i] -= mean;
  return Math.sqrt(z.reduce((a, b) => a + b * b, 0) / z.length);
}

/** The Fourier transform in place; the length is a power of two. */
function fourier(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) { [re[i], re[j]] = [re[j], re[i]]; [im[i], im[j]] = [im[j], im[i]]; }
  }
  for (let size = 2; size <= n; size *= 2) {
    const half = size / 2, angle = (-2 * Math.PI) / size, c = Array.from({length: half}, (_, k) => Math.cos(angle * k)), s = Array.from({length: half}, (_, k) => Math.sin(angle * k));
    for (let i = 0; i < n; i += size) for (let k = 0; k < half; k++) {
      const a = i + k, b = a + half, x = re[b] * c[k] - im[b] * s[k], y = re[b] * s[k] + im[b] * c[k];
      re[b] = re[a] - x; im[b] = im[a] - y; re[a] += x; im[a] += y;
    }
  }
}

// ---- a request of the sliders ----------------------------------------------------------------------------------------

/** Throw for a value beyond its slider. */
function requireInside(source, {set, start, dt, t_end}) {
  for (const control of source.controls) {
    const value = {parameter: set, start, run: {dt, t_end}}[control.section][control.key] ?? control.value;
    if (value !== control.value && !(value >= control.low && value <= control.high))
      throw new Error(`${control.key} must lie between ${+control.low.toPrecision(4)} and ${+control.high.toPrecision(4)} on an exported page, got ${value}; \`stickslip view\` takes others`);
  }
}

/** Parameters, start and times of a request; one line where a value is none that this page takes. */
function wantedRun(source, recorded, {set, start, dt, t_end}) {
  requireInside(source, {set, start, dt, t_end});
  const p = Float64Array.from(source.p);
  source.parameters.forEach((name, i) => { p[i] = set[name] ?? p[i]; });
  const moved = (group, values) => Float64Array.from(values, (x, i) => start[recorded.names[group][i]?.[0]] ?? x);
  const q0 = moved("coordinates", source.q0), u0 = moved("velocities", source.u0), differs = (now, then) => now.some((x, i) => x !== then[i]);
  return {p, q0, u0, dt: dt ?? source.dt, t_end: t_end ?? source.t_end, names: recorded.contacts.map(({name}) => name),
    retuned: differs(p, source.p), changed: differs(p, source.p) || differs(q0, source.q0) || differs(u0, source.u0)};
}

/** The answer of a server, computed here. */
function computed(kernels, source, recorded, request) {
  const wanted = wantedRun(source, recorded, request), {p} = wanted, n = source.kinds.length;
  const began = performance.now(), run = marched(kernels, source, wanted), wall = (performance.now() - began) / 1000;
  const found = framesOf(kernels, source, run, sharpRows(run, source.limits.frames, source.limits.sharp), p);
  source.kinds.forEach((kind, k) => {
    const [mu, normal, tangential] = [0, 1, 2].map((i) => found.laws[i * n + k]);
    if (mu < 0 || Math.max(Math.abs(normal), Math.abs(tangential)) > 1) throw new Error(`contact '${recorded.contacts[k].name}' has a coefficient out of range: friction ${figure(mu)}, restitution ${figure(normal)} and ${figure(tangential)}`);
  });
  const {notes, numbers} = numbersOf(run, found, source, recorded);
  return {...recorded, complete: run.complete, status: run.status, notes, numbers,
    method: {...recorded.method, dt: run.dt, steps: run.steps, records: run.t.length, wall_s: wall},
    parameters: Object.fromEntries(source.parameters.map((name, i) => [name, p[i]])),
    history: historyOf(run, recorded, source), contacts: contactsOf(run, recorded, found.laws), impacts: impactsIn(run, source.limits.impacts),
    motion: motionOf(found, source, recorded)};
}
