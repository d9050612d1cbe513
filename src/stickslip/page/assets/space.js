// ---- space: scenes with WebGL 2, or projected onto a plain canvas where that is missing ---------------------------

const LIGHT = normalised([-0.45, -0.6, 1.1]);
const ANGLE = 0.82; // of view, from bottom to top [rad]
const FRONT = {yaw: -0.95, pitch: 0.36};

/** What both ways of showing a scene share: the camera, and where the bodies are. */
class SpaceView {
  constructor(canvas) { this.canvas = canvas; this.fit(); }

  fit() { Object.assign(this, {...FRONT, zoom: 1}); }
  drag(dx, dy) { this.yaw -= 0.008 * dx; this.pitch = Math.max(-0.2, Math.min(1.5, this.pitch + 0.008 * dy)); }
  magnify(factor) { this.zoom = Math.min(40, Math.max(0.1, this.zoom * factor)); }

  /** What to look at: everything that moves, or the bodies as they go where they go far. */
  subject(run, t) {
    const [ax, ay, az, bx, by, bz] = run.motion.box, radius = 0.5 * Math.hypot(bx - ax, by - ay, bz - az) || 1;
    const path = run.motion.path ??= middlePath(run.motion);
    if (path.radius * 4 > radius) return {target: [(ax + bx) / 2, (ay + by) / 2, (az + bz) / 2], radius, corners: halfDiagonals([bx - ax, by - ay, bz - az])};
    const at = between(run.motion.t, t);
    return {target: path.axes.map((axis) => mixed(axis, at)), radius: path.radius};
  }

  look(run, t, width, height) {
    const {target, radius, corners} = this.subject(run, t), aspect = width / height;
    const distance = (corners ? fitting(corners, aspect) : (2.6 * radius) / Math.min(1, aspect)) / this.zoom, c = Math.cos(this.pitch);
    const eye = [target[0] + distance * c * Math.cos(this.yaw), target[1] + distance * c * Math.sin(this.yaw), target[2] + distance * Math.sin(this.pitch)];
    const projection = perspective(ANGLE, aspect, distance * 0.02, distance * 30 + radius * 30);
    return {matrix: multiplied(projection, lookAt(eye, target)), eye, target, radius, distance};
  }

  /** Model matrices of the bodies at time t, null for those that are not there. */
  placements(run, t) {
    const motion = run.motion, at = between(motion.t, t), moving = motion.bodies.filter((body) => body.channel >= 0).length;
    let row = 0;
    return motion.bodies.map((body) => {
      if (body.channel < 0) return body.fixed ??= placement(body.pose);
      const pose = [0, 1, 2, 3, 4, 5, 6].map((k) => mixed(motion.poses, at, 7 * moving, 7 * row + k));
      row++;
      return pose.some(Number.isNaN) ? null : placement(pose);
    });
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
    return state ? blend(rgb(base), rgb(theme.get(STATES[state])), 0.5) : rgb(base);
  }
}

class SolidStage extends SpaceView {
  constructor(canvas, gl) {
    super(canvas);
    this.gl = gl;
    this.program = program(gl, VERTEX, FRAGMENT);
    this.meshes = new Map();
  }

  draw(run, t, options) {
    const gl = this.gl, ratio = Math.min(window.devicePixelRatio || 1, 2), canvas = this.canvas;
    const w = Math.max(1, Math.round(canvas.clientWidth * ratio)), h = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const view = this.look(run, t, w, h);
    gl.viewport(0, 0, w, h);
    gl.clearColor(...rgb(theme.get("stage")), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.useProgram(this.program.handle);
    this.set("view", view.matrix);
    this.set("eye", view.eye);
    this.set("light", LIGHT);
    this.set("faintness", view.radius * 5);
    const places = this.placements(run, t), pieces = this.pieces(run, places, t, options);
    for (const piece of pieces) this.piece(piece, view);
    this.shadows(pieces, view);
    this.over(run, t, options);
  }

  /** Joints and forces stand on a canvas of their own in front of this one. */
  over(run, t, options) {
    const canvas = byId("over"), {context, width, height} = surface(canvas);
    context.clearRect(0, 0, width, height);
    drawOver(context, run, t, options, seenBy(this.look(run, t, width, height), width, height));
  }

  /** Every solid with its model matrix and colour. */
  pieces(run, places, t, options) {
    const found = [];
    run.motion.bodies.forEach((body, number) => {
      if (!places[number]) return;
      const colour = this.colour(run, body, number, t, options);
      for (const solid of body.solids) found.push({solid, colour, model: multiplied(places[number], solid.own ??= framed(solid))});
    });
    return found;
  }

  piece({solid, colour, model}, view) {
    if (solid.kind === "plane" && hides(model, view)) return;
    this.set("model", solid.kind === "plane" ? multiplied(underfoot(model, view.target), scaled(view.radius * (model[10] > 0.5 ? 12 : 1.5))) : model);
    this.set("colour", [...colour, 1]);
    this.set("pattern", solid.kind === "plane" ? 1 : solid.kind === "sphere" ? 2 : 0);
    this.set("cell", niceBelow(view.radius * 0.6));
    this.fill(solid);
  }

  /** Shadows on the first plane: solids flattened along the light, each place darkened once. */
  shadows(pieces, view) {
    const gl = this.gl, floor = pieces.find((piece) => piece.solid.kind === "plane");
    if (!floor || hides(floor.model, view)) return;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 1);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    const flat = flattened(floor.model, LIGHT, 2e-3 * view.radius);
    this.set("colour", [0.05, 0.08, 0.12, 0.2]);
    this.set("pattern", 3);
    for (const {solid, model} of pieces) if (solid.kind !== "plane" && solid.kind !== "field") {
      this.set("model", multiplied(flat, model));
      this.fill(solid);
    }
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
    gl.disable(gl.BLEND);
  }

  set(name, value) {
    const gl = this.gl, place = this.program.places[name];
    if (typeof value === "number") name === "pattern" ? gl.uniform1i(place, value) : gl.uniform1f(place, value);
    else if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
    else if (value.length === 4) gl.uniform4fv(place, value);
    else gl.uniform3fv(place, value);
  }

  fill(solid) {
    const gl = this.gl, key = solid.key ??= JSON.stringify([solid.kind, solid.size, solid.vertices, solid.heights]);
    if (!this.meshes.has(key)) this.meshes.set(key, uploaded(gl, this.program, triangles(solid)));
    const mesh = this.meshes.get(key);
    gl.bindVertexArray(mesh.array);
    gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
  }
}

/** The same scene without WebGL: faces sorted by their distance and filled. */
class ProjectedStage extends SpaceView {
  draw(run, t, options) {
    const {context, width, height} = surface(this.canvas), view = this.look(run, t, width, height), faces = [];
    context.clearRect(0, 0, width, height);
    const places = this.placements(run, t);
    const seen = seenBy(view, width, height);
    run.motion.bodies.forEach((body, number) => {
      if (!places[number]) return;
      const colour = this.colour(run, body, number, t, options);
      for (const solid of body.solids) this.faces(solid, multiplied(places[number], solid.own ??= framed(solid)), colour, view, seen, faces);
    });
    faces.sort((a, b) => b.depth - a.depth);
    for (const face of faces) this.face(context, face);
    drawOver(context, run, t, options, seen);
  }

  faces(solid, model, colour, view, seen, faces) {
    if (solid.kind === "sphere") {
      const centre = transformed(model, [0, 0, 0]), at = seen(centre), side = seen(add(centre, across(view, solid.size[0])));
      if (at && side) faces.push({depth: at[2], disk: [at[0], at[1], Math.hypot(side[0] - at[0], side[1] - at[1])], colour});
      return;
    }
    const mesh = solid.flat ??= solid.kind === "plane" ? plate(view.radius * 3) : triangles(solid, 10);
    for (let i = 0; i < mesh.points.length; i += 9) {
      const corners = [0, 3, 6].map((k) => transformed(model, mesh.points.slice(i + k, i + k + 3)));
      const normal = normalised(cross(sub(corners[1], corners[0]), sub(corners[2], corners[0])));
      const middle = corners[0].map((_, k) => (corners[0][k] + corners[1][k] + corners[2][k]) / 3);
      if (dot3(normal, sub(view.eye, middle)) <= 0) continue;
      const points = corners.map(seen);
      if (points.some((p) => p === null)) continue;
      const lit = 0.55 + 0.45 * Math.max(0, dot3(normal, LIGHT));
      faces.push({depth: solid.kind === "plane" ? 1e30 : points.reduce((s, p) => s + p[2], 0) / 3, points, colour: colour.map((c) => c * lit)});
    }
  }

  face(context, {points, disk, colour}) {
    const fill = `rgb(${colour.map((c) => Math.round(255 * c)).join(",")})`;
    context.beginPath();
    if (disk) {
      const [x, y, r] = disk, glow = context.createRadialGradient(x - 0.35 * r, y - 0.4 * r, 0.1 * r, x, y, r);
      glow.addColorStop(0, `rgb(${blend(colour, [1, 1, 1], 0.45).map((c) => Math.round(255 * c)).join(",")})`);
      glow.addColorStop(1, fill);
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fillStyle = glow;
      context.fill();
      return;
    }
    points.forEach(([x, y]) => context.lineTo(x, y));
    context.closePath();
    Object.assign(context, {fillStyle: fill, strokeStyle: fill, lineWidth: 0.7});
    context.fill();
    context.stroke();
  }
}

/** Where a point of the world is seen on a canvas, with its depth; null behind the eye. */
function seenBy(view, width, height) {
  return (x) => {
    const [a, b, , w] = transformed(view.matrix, x);
    return w > 0 ? [width * (0.5 + (0.5 * a) / w), height * (0.5 - (0.5 * b) / w), w] : null;
  };
}

/** Radius of a body about its centre, a little less so that gaps between corners count as gaps. */
function bodyRadius(body) {
  return body.radius ??= 0.85 * Math.max(...body.solids.filter((solid) => solid.kind !== "plane").flatMap((solid) => {
    const mesh = triangles(solid, 6).points, own = solid.own ??= framed(solid), sizes = [];
    for (let i = 0; i < mesh.length; i += 3) sizes.push(Math.hypot(...transformed(own, mesh.slice(i, i + 3)).slice(0, 3)));
    return Math.max(...sizes);
  }));
}

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

/** Mean position of the moving bodies over time, smoothed, and how far they are from it at most. */
function middlePath({poses, t, bodies, extent}) {
  const count = bodies.filter((body) => body.channel >= 0).length, axes = [0, 1, 2].map(() => new Float32Array(t.length));
  let radius = 0;
  for (let i = 0; i < t.length && count; i++) {
    const own = [];
    for (let k = 0; k < count; k++) { const at = 7 * (i * count + k); if (poses[at] === poses[at]) own.push([poses[at], poses[at + 1], poses[at + 2]]); }
    for (let a = 0; a < 3; a++) axes[a][i] = own.reduce((sum, x) => sum + x[a], 0) / Math.max(1, own.length);
    for (const x of own) radius = Math.max(radius, Math.hypot(...sub(x, axes.map((axis) => axis[i]))));
  }
  return {axes: axes.map((axis) => smoothed(axis, t)), radius: count ? radius + 2 * extent : Infinity};
}

/** The stage for scenes in space on this machine. */
function spaceStage(canvas) {
  const gl = canvas.getContext("webgl2", {antialias: true, stencil: true, alpha: false});
  return gl ? new SolidStage(canvas, gl) : new ProjectedStage(canvas);
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

function uploaded(gl, {attributes}, {points, normals}) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  for (const [name, data] of [["point", points], ["normal", normals]]) {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.STATIC_DRAW);
    if (attributes[name] < 0) continue;
    gl.enableVertexAttribArray(attributes[name]);
    gl.vertexAttribPointer(attributes[name], 3, gl.FLOAT, false, 0, 0);
  }
  return {array, count: points.length / 3};
}

const VERTEX = `#version 300 es
in vec3 point; in vec3 normal;
uniform mat4 view; uniform mat4 model;
out vec3 world; out vec3 facing; out vec3 own;
void main() {
  vec4 at = model * vec4(point, 1.0);
  world = at.xyz; own = point; facing = mat3(model) * normal;
  gl_Position = view * at;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 world; in vec3 facing; in vec3 own;
uniform vec3 eye; uniform vec3 light; uniform vec4 colour; uniform int pattern; uniform float cell; uniform float faintness;
out vec4 result;
void main() {
  if (pattern == 3) { result = colour; return; }
  vec3 n = normalize(facing), to = normalize(eye - world);
  float sun = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pattern == 1 ? 0.0 : 0.22 * pow(max(dot(reflect(-light, n), to), 0.0), 28.0);
  vec3 base = colour.rgb;
  if (pattern == 2 && own.x * own.y * own.z < 0.0) base *= 0.72;
  if (pattern == 1) {
    vec2 at = own.xy * length(dFdx(world)) / max(length(dFdx(own)), 1e-12) / cell;
    float odd = mod(floor(at.x) + floor(at.y), 2.0);
    base *= 0.9 - 0.05 * odd;
    base = mix(base, vec3(base * 1.02), smoothstep(0.2, 1.0, length(world - eye) / faintness / 4.0));
  }
  result = vec4(base * (0.5 + 0.22 * sky + 0.48 * sun) + shine, 1.0);
}`;

function program(gl, vertex, fragment) {
  const handle = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(handle, shader);
  }
  gl.linkProgram(handle);
  const names = ["view", "model", "eye", "light", "colour", "pattern", "cell", "faintness"];
  return {
    handle,
    places: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(handle, name)])),
    attributes: {point: gl.getAttribLocation(handle, "point"), normal: gl.getAttribLocation(handle, "normal")},
  };
}

// ---- vectors, matrices by columns as WebGL has them, colours ------------------------------------------------------

function sub(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }
function add(a, b) { return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]; }
function dot3(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
function normalised(a) { const s = Math.hypot(...a) || 1; return a.map((x) => x / s); }
function across(view, size) { return normalised(cross(sub(view.target, view.eye), [0, 0, 1])).map((x) => x * size); }

function multiplied(a, b) {
  const found = new Float32Array(16);
  for (let column = 0; column < 4; column++) for (let row = 0; row < 4; row++)
    for (let k = 0; k < 4; k++) found[4 * column + row] += a[4 * k + row] * b[4 * column + k];
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
function placement([px, py, pz, w0, x0, y0, z0]) {
  const s = Math.hypot(w0, x0, y0, z0) || 1, w = w0 / s, x = x0 / s, y = y0 / s, z = z0 / s;
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, px, py, pz, 1,
  ];
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

/** A plane's frame moved within the plane below the point that is looked at, by whole numbers of its pattern. */
function underfoot(model, target) {
  const n = [model[8], model[9], model[10]], distance = dot3(sub(target, [model[12], model[13], model[14]]), n);
  const moved = Float32Array.from(model);
  for (let k = 0; k < 3; k++) moved[12 + k] = target[k] - distance * n[k];
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
function blend(a, b, part) { return a.map((x, i) => x + part * (b[i] - x)); }

/** A quiet colour for body number i: neighbours differ. */
function shade(i) {
  return ["#6d93bd", "#d79a62", "#79b39b", "#c58379", "#988cc2", "#c7b25a"][i % 6];
}
