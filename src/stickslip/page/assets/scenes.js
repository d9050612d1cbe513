// ---- scenes: the bodies of an exported page, moved by the march that the file holds ----------------------------------
// What `SceneEngine`, `run.records` and `page.space` do in Python, for steps that need no help.

const FOLLOW = [(p, a) => a * p, (p, a) => p + a, (p, a) => a - p, (p, a) => a / p, (p, a) => a * (p * p), (p, a, b) => b + a * p];
const SCENE_ENDINGS = {
  2: "a contact problem was not solved here; `stickslip run` has more methods for such a step",
  3: "there are more contact points than this page has room for; `stickslip run` makes room", 4: "the motion has blown up; try a smaller dt",
  5: "a joint came apart; try a smaller dt",
};

async function inflated(text) {
  return new Uint8Array(await new Response(new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/** The image of memory for values of the sliders. */
function imageFor(source, image, {set, dt}) {
  const own = image.slice(), words = new Float64Array(own.buffer);
  for (const control of source.controls) {
    const value = {parameter: set, run: {dt}}[control.section][control.key] ?? control.value, parts = source.following[control.key];
    if (!parts || value === control.value) continue;
    parts.at.forEach((at, i) => { words[at] = FOLLOW[parts.formula[i]](value, parts.a[i], parts.b[i]); });
  }
  return own;
}

/** Memory of the march with an image in it: `call` does steps, `numbers` reads what stands at a place. */
function memoryWith({exports, room}, source, image) {
  const end = room + image.length, missing = end - exports.memory.buffer.byteLength;
  if (missing > 0) exports.memory.grow(Math.ceil(missing / 65536));
  new Uint8Array(exports.memory.buffer).set(image, room);
  const numbers = (name, kind = Float64Array) => new kind(exports.memory.buffer, room + source.places[name][0], source.places[name][1] / kind.BYTES_PER_ELEMENT);
  const call = (steps, every) => {
    numbers("steps", BigInt64Array)[0] = BigInt(steps);
    numbers("every", BigInt64Array)[0] = BigInt(every);
    numbers("struck", BigInt64Array)[0] = 0n;
    exports.run(room, end);
    const view = new DataView(exports.memory.buffer, room + 8 * source.results);
    return [...[0, 1, 2].map((k) => Number(view.getBigInt64(8 * k, true))), view.getFloat64(24, true)];
  };
  return {numbers, call, buffer: () => exports.memory.buffer, room};
}

/** The steps of a run and its records, in the form of `marched`. */
function marchedScene(kernels, source, {image, dt, t_end}) {
  const [f, g, n] = source.sizes, {t0} = source, steps = Math.max(1, halfEven((t_end - t0) / dt));
  if (!(steps <= source.most_steps)) throw new Error(`${steps.toLocaleString("en")} steps are too many for a page, which takes ${source.most_steps.toLocaleString("en")}: enlarge dt or shorten t_end`);
  const every = Math.max(source.every, Math.ceil(steps / source.limits.records)), memory = memoryWith(kernels.march, source, image);
  const widths = {q: f, u: g, impulse: 2 * n, state: n, gap: n, energy: 2}, most = Math.floor(steps / every) + 3, rows = {n: 0, t: new Float64Array(most)}, events = [], arrows = [new Float64Array(0)];
  for (const [name, width] of Object.entries(widths)) rows[name] = new (name === "state" ? Int8Array : Float64Array)(most * width);
  const keep = (count, time) => {
    for (const [name, width] of Object.entries(widths)) rows[name].set(memory.numbers(name, name === "state" ? Int8Array : Float64Array).subarray(0, count * width), rows.n * width);
    for (let i = 0; i < count; i++) rows.t[rows.n + i] = time(i);
    rows.n += count;
  };
  const [, , , push] = memory.call(0, 1);
  keep(1, () => t0);
  rows.gap.set(source.gap.map((x) => (x === 1e300 ? Infinity : x)));
  let step = 0, status = DONE, counts = null;
  while (step < steps && (status === DONE || status === EVENTS_FULL)) {
    const whole = steps - (steps % every), rest = step >= whole; // what is left behind the last record has one at its end
    const piece = rest ? steps - step : every - (step % every); // one record: its forces stand in the memory until the next step
    let done, written;
    [status, done, written] = memory.call(piece, rest ? steps : every);
    const before = step;
    step += done;
    keep(written, (i) => t0 + (rest ? steps : (Math.floor(before / every) + 1 + i) * every) * dt);
    if (written) arrows.push(rest ? new Float64Array(0) : memory.numbers("forces").slice(0, 6 * Number(memory.numbers("arrows", BigInt64Array)[0])));
    const struck = Number(memory.numbers("struck", BigInt64Array)[0]), table = memory.numbers("events"), columns = EVENT_COLUMNS + 1;
    for (let i = 0; i < struck; i++) events.push(table.slice(i * columns, (i + 1) * columns));
    counts = memory.numbers("counts", BigInt64Array).slice();
  }
  const complete = status === DONE || status === EVENTS_FULL, book = memory.numbers("book").slice();
  if (!complete) book[source.book.FAILED_STEPS] += 1;
  if (rows.n < 2) throw new Error(`the first step already failed: ${SCENE_ENDINGS[status] ?? "it was not solved"}`);
  for (const [name, width] of Object.entries({t: 1, ...widths})) rows[name] = rows[name].slice(0, rows.n * width);
  let joints = 0;
  if (source.places.joints) {
    const [first, way, many] = source.places.joints, view = new DataView(memory.buffer(), memory.room);
    for (let j = 0; j < many; j++) joints = Math.max(joints, view.getFloat64(first + j * way, true));
  }
  const count = (name) => Number(counts[source.counts[name]]);
  return {...rows, arrows, f, g, contacts: n, dt, every, steps: step, events, book, complete, push, joints, plastic: count("PLASTIC"), held: count("HELD"),
    status: complete ? "finished" : `failed at t = ${+(t0 + step * dt).toPrecision(9)} s: ${SCENE_ENDINGS[status] ?? "a step was not solved"}`};
}

// ---- numbers ---------------------------------------------------------------------------------------------------------

function numbersOfScene(run, source, recorded) {
  const {book, energy, dt} = run, at = source.book, m = run.t.length, total = (i) => energy[2 * i] + energy[2 * i + 1];
  let kinetic = 0, least = Infinity, largest = -Infinity, deepest = book[at.MAX_PENETRATION];
  for (let i = 0; i < m; i++) {
    kinetic = Math.max(kinetic, energy[2 * i]);
    least = Math.min(least, energy[2 * i + 1]);
    largest = Math.max(largest, energy[2 * i + 1]);
  }
  for (const gap of run.gap) deepest = Math.max(deepest, -gap);
  const work = book[at.CONTACT_WORK], projection = book[at.PROJECTION_ENERGY], start = total(0), end = total(m - 1), integration = end - start - work - projection;
  const play = Math.max(kinetic, largest - least, Math.abs(work), run.push * dt * dt, 1e-10 * Math.max(Math.abs(least), Math.abs(largest)));
  const {gain, share, told} = shares(play), forces = source.forced & 1, none = (x, unit = "") => (x === 0 ? "none" : `${powerText(x, 1)}${unit}`);
  const tolerance = recorded.numbers.proof[1].value.match(/ \(tolerance.*/)?.[0] ?? "", times = (k) => (k === 1 ? "1 step" : `${k.toLocaleString("en")} steps`);
  const values = [
    [`${book[at.FAILED_STEPS]}`], [none(book[at.MAX_RESIDUAL]) + tolerance], [none(deepest, " m")], [gain(book[at.MAX_ENERGY_GAIN])],
    [gain(projection), book[at.PROJECTIONS] > 0], [forces ? (share(integration) === 0 ? "none" : `${shortText(integration)} J`) : gain(integration)],
    [`${powerText(run.joints, 1)} m`, run.joints > 0], [`at most ${powerText(book[at.CREEP], 1)} m`, book[at.CREEP] > source.creep],
    [`${run.plastic} times`, run.plastic > 0], [`up to ${run.held} at a time`, run.held > 0],
    [times(book[at.OPEN_LOADS]), book[at.OPEN_LOADS] > 0], [times(book[at.OPEN_NORMALS]), book[at.OPEN_NORMALS] > 0],
  ];
  const proof = source.proof.map((line, i) => ({...line, value: values[i][0]})).filter((_, i) => values[i][1] ?? true);
  const notes = !forces && share(integration) > 0.01 ? [told(integration)] : [];
  const counts = Object.fromEntries(recorded.contacts.slice(0, source.limits.series).map(({name}, k) => [name, run.events.filter((row) => row[1] === k || row[EVENT_COLUMNS] === k).length])); // an impact of two bodies counts for both
  return {notes, numbers: {...recorded.numbers, proof, impacts: counts, period: seenPeriod({...run, f: run.g}),
    energy: {start, end, contacts: work, projection, integration, unexplained: 0},
    certificate: {...recorded.numbers.certificate, failed_steps: book[at.FAILED_STEPS], max_residual: book[at.MAX_RESIDUAL], max_penetration: deepest, contact_work: work, integration_energy: integration, energy_in_play: play}}};
}

// ---- the moving picture ----------------------------------------------------------------------------------------------

/** A point of a body in the world: q is its pose in record i. */
function pointOf(run, source, i, [column, ...own]) {
  if (column < 0) return own;
  const width = source.dim === 2 ? 3 : 7, p = run.q.subarray(i * run.f + width * column, i * run.f + width * (column + 1));
  if (source.dim === 2) { const c = Math.cos(p[2]), s = Math.sin(p[2]); return [p[0] + c * own[0] - s * own[1], p[1] + s * own[0] + c * own[1]]; }
  const [w, x, y, z] = p.subarray(3), cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const axis = [x, y, z], twice = cross(axis, own).map((c) => 2 * c), more = cross(axis, twice);
  return own.map((c, k) => p[k] + c + w * twice[k] + more[k]);
}

/** Between the two neighbours in order, as NumPy's. */
function quantile(values, part) {
  const sorted = Float64Array.from(values).sort(), place = part * (sorted.length - 1), i = Math.floor(place);
  return sorted[i] + (place - i) * ((sorted[i + 1] ?? sorted[i]) - sorted[i]);
}

/** Points and forces at contacts, frame by frame; of frames with many contacts the largest forces. */
function forcesOf(run, rows, dim, most) {
  const each = Math.max(1, Math.floor(most / Math.max(1, rows.length))), first = [0], point = [], force = [], sizes = [];
  for (const i of rows) {
    const parts = run.arrows[i], size = Array.from({length: parts.length / 6}, (_, k) => Math.hypot(...parts.subarray(6 * k + 3, 6 * k + 6)));
    const chosen = size.map((_, k) => k).sort((a, b) => size[b] - size[a] || a - b).slice(0, each);
    for (const k of chosen) {
      point.push(...parts.subarray(6 * k, 6 * k + dim));
      force.push(...parts.subarray(6 * k + 3, 6 * k + 3 + dim));
      if (size[k] > 0) sizes.push(size[k]);
    }
    first.push(first.at(-1) + chosen.length);
  }
  return {first, point: Float32Array.from(point), force: Float32Array.from(force), typical: sizes.length ? quantile(sizes, 0.9) : 1};
}

function motionOfScene(run, rows, source, recorded) {
  const {radii, dim, links} = source, width = dim === 2 ? 3 : 7, old = recorded.motion, m = rows.length;
  const t = single(m, (i) => run.t[rows[i]]), low = Array(dim).fill(Infinity), high = Array(dim).fill(-Infinity);
  radii.forEach((radius, c) => { for (const i of rows) for (let k = 0; k < dim; k++) {
    const x = run.q[i * run.f + width * c + k];
    low[k] = Math.min(low[k], x - radius);
    high[k] = Math.max(high[k], x + radius);
  } });
  const ends = links && {kinds: links.kinds, track: Float32Array.from(rows.flatMap((i) => links.ends.flatMap((end) => pointOf(run, source, i, end))))};
  const shown = {...old, t, links: ends, forces: forcesOf(run, rows, dim, source.most_arrows)};
  if (dim === 3) {
    const moving = old.bodies.filter((body) => body.channel >= 0), poses = new Float32Array(m * moving.length * 7);
    rows.forEach((i, frame) => moving.forEach((body, k) => poses.set(run.q.subarray(i * run.f + 7 * body.channel, i * run.f + 7 * body.channel + 7), 7 * (frame * moving.length + k))));
    return {...shown, box: [...low, ...high], poses};
  }
  const shapes = old.shapes.map((shape) => {
    if (shape.channel < 0) return shape;
    const place = (i) => { const p = run.q.subarray(i * run.f + 3 * shape.channel); return [p[0], p[1], Math.cos(p[2]), Math.sin(p[2])]; };
    return {...shape, values: place(rows[0]), moving: [0, 1, 2, 3], track: Float32Array.from(rows.flatMap(place))};
  });
  const room = 0.06 * Math.max(high[0] - low[0], high[1] - low[1]);
  return {...shown, shapes, view: [low[0] - room, high[0] + room, low[1] - room, high[1] + room]};
}

/** The answer of a server, computed here; for scenes. */
function computedScene(kernels, source, recorded, image, request) {
  requireInside(source, request);
  const dt = request.dt ?? source.dt, t_end = request.t_end ?? source.t_end, began = performance.now();
  const run = marchedScene(kernels, source, {image: imageFor(source, image, request), dt, t_end}), wall = (performance.now() - began) / 1000;
  const {notes, numbers} = numbersOfScene(run, source, recorded), plain = {...source, kinds: Array(run.contacts).fill("contact")};
  return {...recorded, complete: run.complete, status: run.status, notes, numbers,
    method: {...recorded.method, dt: run.dt, steps: run.steps, records: run.t.length, wall_s: wall},
    history: historyOf(run, recorded, plain), contacts: contactsOf(run, recorded, []), impacts: impactsIn(run, source.limits.impacts),
    motion: motionOfScene(run, sharpRows(run, source.limits.frames, source.limits.sharp), source, recorded)};
}
