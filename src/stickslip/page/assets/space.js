// ---- space: the camera of scenes, geometry and colours ------------------------------------------------------------

const LIGHT = normalised([-0.45, -0.6, 1.1]);
const ANGLE = 0.82; // of view, from bottom to top [rad]
const FRONT = {yaw: -0.95, pitch: 0.36};
const TINY = 12; // a few bodies whose way is longer than this many of their radii are looked at from near by
const FEW = 12; // bodies that are a few

/** What both ways of showing a scene share: the camera, and where the bodies are. */
class SpaceView {
  constructor(canvas) { this.canvas = canvas; this.fit(); }

  fit() { Object.assign(this, {...FRONT, zoom: 1}); }
  drag(dx, dy) { this.yaw -= 0.008 * dx; this.pitch = Math.max(-0.2, Math.min(1.5, this.pitch + 0.008 * dy)); }
  magnify(factor) { this.zoom = Math.min(40, Math.max(0.1, this.zoom * factor)); }

  /** The box of a run, with that of the run it is compared with. */
  both(box) {
    const other = this.earlier?.motion?.box;
    return other ? box.map((x, k) => (k < 3 ? Math.min(x, other[k]) : Math.max(x, other[k]))) : box;
  }

  /** What to look at: everything that moves, or the bodies as they go where they go far, or as they spread where they are small. */
  subject(run, t) {
    const [ax, ay, az, bx, by, bz] = this.both(run.motion.box), radius = 0.5 * Math.hypot(bx - ax, by - ay, bz - az) || 1;
    const path = run.motion.path ??= middlePath(run.motion);
    const spreads = !this.earlier && path.spreads && TINY * run.motion.extent < radius;
    if (!spreads && path.radius * 4 > radius) return {target: [(ax + bx) / 2, (ay + by) / 2, (az + bz) / 2], radius, corners: halfDiagonals([bx - ax, by - ay, bz - az])};
    const at = between(run.motion.t, t);
    return {target: path.axes.map((axis) => mixed(axis, at)), radius: spreads ? mixed(path.reach, at) : path.radius, tile: spreads ? path.reach[0] : path.radius};
  }

  look(run, t, width, height) {
    const {target, radius, corners, tile = radius} = this.subject(run, t), aspect = width / height;
    const distance = (corners ? fitting(corners, aspect) : (2.6 * radius) / Math.min(1, aspect)) / this.zoom, c = Math.cos(this.pitch);
    const eye = [target[0] + distance * c * Math.cos(this.yaw), target[1] + distance * c * Math.sin(this.yaw), target[2] + distance * Math.sin(this.pitch)];
    const projection = perspective(ANGLE, aspect, distance * 0.02, distance * 30 + radius * 30);
    return {matrix: multiplied(projection, lookAt(eye, target)), eye, target, radius, tile, distance};
  }

  /** Model matrices of the bodies at time t, null for those that are not there.  They stand in one array, which the next call fills again. */
  placements(run, t) {
    const motion = run.motion, at = between(motion.t, t), {places, rows, moving} = motion.places ??= roomForPlaces(motion);
    return motion.bodies.map((_, k) => (rows[k] < 0 || placeAt(motion.poses, 7 * moving * at.i + 7 * rows[k], 7 * moving * at.j + 7 * rows[k], at.s, places[k]) ? places[k] : null));
  }

  /** The moving body at a point of the canvas, the nearest of those that are there, and the way of a hand across the view. */
  pick(run, t, px, py) {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, view = this.look(run, t, width, height);
    const places = this.placements(run, t), slope = Math.tan(ANGLE / 2);
    let found = null;
    run.motion.bodies.forEach((body, number) => {
      if (body.channel < 0 || !places[number]) return;
      const centre = [places[number][12], places[number][13], places[number][14]], [a, b, , w] = transformed(view.matrix, centre);
      if (w <= 0) return;
      const x = width * (0.5 + (0.5 * a) / w), y = height * (0.5 - (0.5 * b) / w), radius = (bodyRadius(body) * height) / (2 * slope * w);
      if (Math.hypot(px - x, py - y) <= Math.max(radius, 8) && !(found?.w < w)) found = {w, body};
    });
    if (!found) return null;
    const back = normalised(sub(view.eye, view.target)), right = normalised(cross([0, 0, 1], back)), up = cross(back, right);
    const metres = (2 * slope * found.w) / height; // per pixel, at the depth of the body
    const world = (x, y) => right.map((r, k) => metres * ((x - px) * r - (y - py) * up[k]));
    return {body: found.body.name, point: [0, 0], scene: true, world, target: (to) => to};
  }

  colour(run, body, number, t, options) {
    const base = body.style === "static" ? theme.get("ground") : body.style === "driven" ? theme.get("wood") : shade(number);
    const state = body.channel >= 0 && run.contacts[body.channel] ? stateAt(run, body.channel, t, HELD * options.speed) : 0;
    return tint(base, state ? theme.get(STATES[state]) : base);
  }
}

/** One array for the matrices of all bodies, a view of it for each, and the row of each among those that move. */
function roomForPlaces({bodies}) {
  const all = new Float32Array(16 * bodies.length), places = bodies.map((_, k) => all.subarray(16 * k, 16 * k + 16));
  let moving = 0;
  const rows = bodies.map((body, k) => {
    if (body.channel >= 0) return moving++;
    places[k].set(placement(body.pose));
    return -1;
  });
  return {places, rows, moving};
}

/** Fill the matrix between two poses of an array, position and quaternion from i and j; false where there is none. */
function placeAt(poses, i, j, s, matrix) {
  if (Number.isNaN(poses[i])) { if (!(s > 0.999)) return false; i = j; }
  if (Number.isNaN(poses[j])) { if (Number.isNaN(poses[i])) return false; j = i; }
  const r = 1 - s, turned = poses[i + 3] * poses[j + 3] + poses[i + 4] * poses[j + 4] + poses[i + 5] * poses[j + 5] + poses[i + 6] * poses[j + 6];
  const e = turned < 0 ? -s : s; // two quaternions are one turn: the way between is the short one
  fillPlacement(matrix, r * poses[i] + s * poses[j], r * poses[i + 1] + s * poses[j + 1], r * poses[i + 2] + s * poses[j + 2],
    r * poses[i + 3] + e * poses[j + 3], r * poses[i + 4] + e * poses[j + 4], r * poses[i + 5] + e * poses[j + 5], r * poses[i + 6] + e * poses[j + 6]);
  return true;
}

/** Where a point of the world is seen on a canvas, with its depth; null behind the eye. */
function seenBy(view, width, height) {
  return (x) => {
    const [a, b, , w] = transformed(view.matrix, x);
    return w > 0 ? [width * (0.5 + (0.5 * a) / w), height * (0.5 - (0.5 * b) / w), w] : null;
  };
}

/** Radius of a body about its centre, a little less so that gaps between corners count as gaps. */
function bodyRadius(body) { return 0.85 * (body.ball ??= ballOf(body)).outer; }

/** From the middle of a box to its corners. */
function halfDiagonals([a, b, c]) {
  return [-0.5, 0.5].flatMap((i) => [-0.5, 0.5].flatMap((j) => [-0.5, 0.5].map((k) => [i * a, j * b, k * c])));
}

/** Distance from which all these points, around the one that is looked at, are in sight from the front. */
function fitting(points, aspect) {
  const c = Math.cos(FRONT.pitch), back = [c * Math.cos(FRONT.yaw), c * Math.sin(FRONT.yaw), Math.sin(FRONT.pitch)];
  const right = normalised(cross([0, 0, 1], back)), up = cross(back, right), slope = Math.tan(ANGLE / 2);
  return 1.12 * Math.max(...points.map((x) => dot3(back, x) + Math.max(Math.abs(dot3(up, x)), Math.abs(dot3(right, x)) / aspect) / slope));
}

/** Mean position of the moving bodies over time, smoothed, and how far they are from it: at most, and at each frame. */
function middlePath({poses, t, bodies, extent}) {
  const count = bodies.filter((body) => body.channel >= 0).length, places = Array.from(t, (_, i) => placesAt(poses, count, i));
  const mean = (own, a) => own.reduce((sum, x) => sum + x[a], 0) / Math.max(1, own.length);
  const middles = [0, 1, 2].map((a) => Float32Array.from(places, (own) => mean(own, a))), axes = middles.map((axis) => smoothed(axis, t));
  const farthest = (axis) => Float32Array.from(places, (own, i) => Math.max(0, ...own.map((x) => Math.hypot(...sub(x, axis.map((values) => values[i]))))));
  const far = farthest(axes), calm = smoothed(far, t), reach = far.map((x, i) => Math.max(x, calm[i]) + 2 * extent);
  const radius = farthest(middles).reduce((most, x) => Math.max(most, x), 0);
  return {axes, reach, spreads: count > 1 && count <= FEW && places.every((own) => own.length === count), radius: count ? radius + 2 * extent : Infinity};
}

/** Places of the moving bodies that are there at frame i. */
function placesAt(poses, count, i) {
  const own = [];
  for (let k = 0; k < count; k++) { const at = 7 * (i * count + k); if (poses[at] === poses[at]) own.push([poses[at], poses[at + 1], poses[at + 2]]); }
  return own;
}

/** The stage for scenes in space on this machine. */
function spaceStage(canvas) {
  const gl = hasCard() && canvas.getContext("webgl2", {antialias: true, stencil: true, alpha: false});
  return gl ? new SolidStage(canvas, gl) : new ProjectedStage(canvas);
}

/** Whether a card stands behind WebGL; where the processor does its work, a plain canvas is several times as fast. */
function hasCard() {
  const gl = document.createElement("canvas").getContext("webgl2"), told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl ? `${gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER)}` : "software";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

// ---- geometry ----------------------------------------------------------------------------------------------------

/** Triangles of a solid in its own frame: points and normals, nine numbers each. */
function triangles(solid, fine = 24) {
  const points = [], normals = [];
  const add3 = (a, b, c, n) => { points.push(...a, ...b, ...c); normals.push(...(n ?? Array(3).fill(normalised(cross(sub(b, a), sub(c, a)))).flat())); };
  if (solid.kind === "mesh") meshTriangles(solid, add3);
  else if (solid.kind === "sphere") roundTriangles(solid.size[0], 0, fine, add3);
  else if (solid.kind === "capsule") roundTriangles(solid.size[0], solid.size[1], fine, add3);
  else if (solid.kind === "field") fieldTriangles(solid, add3);
  else return plate(1);
  return {points, normals};
}

function meshTriangles({vertices, faces}, add3) {
  const corner = (k) => vertices.slice(3 * k, 3 * k + 3);
  for (const face of faces) for (let i = 2; i < face.length; i++) add3(corner(face[0]), corner(face[i - 1]), corner(face[i]));
}

/** A sphere, or a capsule with its axis along z. */
function roundTriangles(radius, half, fine, add3) {
  const at = (i, j) => {
    const a = (2 * Math.PI * i) / fine, b = Math.PI * (j / fine - 0.5);
    return [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)];
  };
  const place = (n, j) => [radius * n[0], radius * n[1], radius * n[2] + (j > fine / 2 ? half : -half)];
  for (let j = 0; j < fine; j++) for (let i = 0; i < fine; i++) {
    const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([a, b]) => [at(a, b), b]);
    for (const [a, b, c] of [[0, 1, 2], [0, 2, 3]]) {
      const three = [corners[a], corners[b], corners[c]];
      add3(...three.map(([n, row]) => place(n, row)), three.flatMap(([n]) => n));
    }
  }
}

function fieldTriangles({heights, size}, add3) {
  const rows = heights.length, columns = heights[0].length, s = size[0];
  const at = (i, j) => [(i - 0.5 * (rows - 1)) * s, (j - 0.5 * (columns - 1)) * s, heights[i][j]];
  for (let i = 0; i + 1 < rows; i++) for (let j = 0; j + 1 < columns; j++) {
    add3(at(i, j), at(i + 1, j), at(i + 1, j + 1));
    add3(at(i, j), at(i + 1, j + 1), at(i, j + 1));
  }
}

function plate(size) {
  const s = size, points = [-s, -s, 0, s, -s, 0, s, s, 0, -s, -s, 0, s, s, 0, -s, s, 0];
  return {points, normals: Array(6).fill([0, 0, 1]).flat()};
}

// ---- vectors, matrices by columns as WebGL has them, colours ------------------------------------------------------

function sub(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }
function add(a, b) { return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]; }
function dot3(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
function normalised(a) { const s = Math.hypot(...a) || 1; return a.map((x) => x / s); }
function across(view, size) { return normalised(cross(sub(view.target, view.eye), [0, 0, 1])).map((x) => x * size); }

function multiplied(a, b) { return product(new Float32Array(16), 0, a, b); }

/** The product of two matrices, written into an array from a place on. */
function product(found, from, a, b) {
  for (let column = 0; column < 16; column += 4) for (let row = 0; row < 4; row++)
    found[from + column + row] = a[row] * b[column] + a[4 + row] * b[column + 1] + a[8 + row] * b[column + 2] + a[12 + row] * b[column + 3];
  return found;
}

/** The point x of a matrix's space; four numbers where the last one matters. */
function transformed(m, x) {
  return [0, 1, 2, 3].map((row) => m[row] * x[0] + m[4 + row] * x[1] + m[8 + row] * x[2] + m[12 + row]);
}

function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

function lookAt(eye, target) {
  const back = normalised(sub(eye, target)), right = normalised(cross([0, 0, 1], back)), up = cross(back, right);
  return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot3(right, eye), -dot3(up, eye), -dot3(back, eye), 1];
}

/** Position and quaternion (w, x, y, z) as a matrix. */
function placement(pose) { return fillPlacement(new Float32Array(16), ...pose); }

function fillPlacement(m, px, py, pz, w0, x0, y0, z0) {
  const n = Math.sqrt(w0 * w0 + x0 * x0 + y0 * y0 + z0 * z0) || 1, w = w0 / n, x = x0 / n, y = y0 / n, z = z0 / n;
  m[0] = 1 - 2 * (y * y + z * z); m[1] = 2 * (x * y + w * z); m[2] = 2 * (x * z - w * y); m[3] = 0;
  m[4] = 2 * (x * y - w * z); m[5] = 1 - 2 * (x * x + z * z); m[6] = 2 * (y * z + w * x); m[7] = 0;
  m[8] = 2 * (x * z + w * y); m[9] = 2 * (y * z - w * x); m[10] = 1 - 2 * (x * x + y * y); m[11] = 0;
  m[12] = px; m[13] = py; m[14] = pz; m[15] = 1;
  return m;
}

/** Frame of a solid in its body; `turn` comes by rows. */
function framed({offset: [x, y, z], turn: r}) {
  return [r[0], r[3], r[6], 0, r[1], r[4], r[7], 0, r[2], r[5], r[8], 0, x, y, z, 1];
}

function scaled(s) { return [s, 0, 0, 0, 0, s, 0, 0, 0, 0, s, 0, 0, 0, 0, 1]; }

/** Whether a plane is seen from behind, so that it would hide all that lies on it: a near wall of a box. */
function hides(model, view) {
  return model[8] * (view.eye[0] - model[12]) + model[9] * (view.eye[1] - model[13]) + model[10] * (view.eye[2] - model[14]) <= 0;
}

/** A plane's frame moved within the plane below the point that is looked at, by whole steps: its pattern stays where it is. */
function underfoot(model, target, step = 0) {
  const moved = Float32Array.from(model), way = sub(target, [model[12], model[13], model[14]]);
  for (const axis of [0, 4]) {
    const along = normalised([model[axis], model[axis + 1], model[axis + 2]]), length = dot3(way, along);
    const steps = step > 0 ? step * Math.round(length / step) : length;
    for (let k = 0; k < 3; k++) moved[12 + k] += steps * along[k];
  }
  return moved;
}

/** Projection along the light onto a plane, a little above it. */
function flattened(model, light, lift) {
  const n = [model[8], model[9], model[10]], slope = dot3(n, light), d = dot3(n, [model[12], model[13], model[14]]) + lift;
  const found = new Float32Array(16);
  for (let column = 0; column < 3; column++) for (let row = 0; row < 3; row++)
    found[4 * column + row] = (row === column ? 1 : 0) - (light[row] * n[column]) / slope;
  for (let row = 0; row < 3; row++) found[12 + row] = (light[row] * d) / slope;
  found[15] = 1;
  return found;
}

function rgb(colour) {
  if (colour.startsWith("#")) return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
  return colour.match(/[\d.]+/g).slice(0, 3).map((x) => x / 255);
}

/** A colour with as much of another one, as numbers; the few that there are are worked out once. */
const tints = new Map();
function tint(base, other) {
  const key = base + other;
  if (!tints.has(key)) tints.set(key, base === other ? rgb(base) : blend(rgb(base), rgb(other), 0.5));
  return tints.get(key);
}
function blend(a, b, part) { return a.map((x, i) => x + part * (b[i] - x)); }

/** A quiet colour for body number i: neighbours differ. */
function shade(i) {
  return ["#6d93bd", "#d79a62", "#79b39b", "#c58379", "#988cc2", "#c7b25a"][i % 6];
}
