// ---- solids: scenes with WebGL 2; bodies of one shape are drawn by one call, their places go over in one piece -----

const PER_PIECE = 20; // numbers of a solid: its matrix and its colour
const FINE = {few: 24, many: 14, crowd: 250}; // parts of a round solid's circles, and the number of bodies that are many
const UNIT = new Float32Array(scaled(1));

class SolidStage extends SpaceView {
  constructor(canvas, gl) {
    super(canvas);
    this.gl = gl;
    this.program = program(gl, VERTEX, FRAGMENT);
    this.meshes = new Map();
    this.crowds = new WeakMap();
    this.planes = this.buffers(4 * PER_PIECE);
  }

  draw(run, t, options) {
    this.earlier = options.earlier;
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
    this.set("thrown", UNIT);
    this.set("eye", view.eye);
    this.set("light", LIGHT);
    this.set("faintness", view.radius * 5);
    this.set("cell", tileOf(view));
    const crowd = this.placed(run, t, options);
    this.solids(crowd);
    for (const plane of crowd.planes) this.plane(plane, view);
    this.shadows(crowd, view);
    if (options.earlier?.motion?.kind === "space") this.ghost(options.earlier, t, options);
    this.over(run, t, options);
  }

  /** Joints and forces stand on a canvas of their own in front of this one. */
  over(run, t, options) {
    const canvas = byId("over"), {context, width, height} = surface(canvas);
    context.clearRect(0, 0, width, height);
    drawOver(context, run, t, options, seenBy(this.look(run, t, width, height), width, height));
  }

  /** Solids of a run by their shapes, with room for their places; made once. */
  crowd(run) {
    if (this.crowds.has(run)) return this.crowds.get(run);
    const groups = new Map(), planes = [], fine = run.motion.bodies.length > FINE.crowd ? FINE.many : FINE.few;
    run.motion.bodies.forEach((body, number) => body.solids.forEach((solid) => {
      const own = Float32Array.from(framed(solid)), piece = {body, number, solid, own};
      if (solid.kind === "plane") { planes.push(piece); return; }
      if (solid.kind === "sphere") product(own, 0, Float32Array.from(framed(solid)), scaled(solid.size[0])); // all spheres have one mesh
      const key = solid.key ??= solid.kind === "sphere" ? "sphere" : JSON.stringify([solid.kind, solid.size, solid.vertices, solid.heights]);
      const alike = `${body.channel >= 0} ${key}`;
      if (!groups.has(alike)) groups.set(alike, {pieces: [], moving: body.channel >= 0, pattern: solid.kind === "sphere" ? 2 : 0, casts: solid.kind !== "field", solid});
      groups.get(alike).pieces.push(piece);
    }));
    const all = [...groups.values()].sort((a, b) => a.pattern - b.pattern);
    const crowd = {planes, groups: all, ...this.buffers(PER_PIECE * all.reduce((sum, group) => sum + group.pieces.length, 0))};
    let from = 0;
    for (const group of all) {
      const mesh = this.mesh(group.solid, fine);
      Object.assign(group, {from, count: mesh.count, array: this.bound(mesh, crowd.buffer, from)});
      from += PER_PIECE * group.pieces.length;
    }
    this.crowds.set(run, crowd);
    return crowd;
  }

  buffers(numbers) { return {data: new Float32Array(numbers), buffer: this.gl.createBuffer()}; }

  /** The crowd of a run at time t: matrices and colours, sent over in one piece. */
  placed(run, t, options) {
    const gl = this.gl, crowd = this.crowd(run), places = this.placements(run, t), {data} = crowd;
    const colours = run.motion.bodies.map((body, number) => (places[number] ? this.colour(run, body, number, t, options) : null));
    for (const {pieces, from} of crowd.groups) pieces.forEach(({number, own}, k) => {
      const at = from + PER_PIECE * k;
      if (!places[number]) { data.fill(0, at, at + PER_PIECE); return; } // no size: nothing is seen
      product(data, at, places[number], own);
      data.set(colours[number], at + 16);
    });
    for (const plane of crowd.planes) Object.assign(plane, {model: places[plane.number] && multiplied(places[plane.number], plane.own), colour: colours[plane.number]});
    gl.bindBuffer(gl.ARRAY_BUFFER, crowd.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    return crowd;
  }

  solids({groups}, casting = false) {
    const gl = this.gl;
    for (const {pattern, casts, array, count, pieces} of groups) if (casts || !casting) {
      if (!casting) this.set("pattern", pattern);
      gl.bindVertexArray(array);
      gl.drawArraysInstanced(gl.TRIANGLES, 0, count, pieces.length);
    }
  }

  plane({model, colour, solid}, view) {
    if (!model || hides(model, view)) return;
    const gl = this.gl, {data, buffer} = this.planes, mesh = this.mesh(solid), ground = model[10] > 0.5;
    product(data, 0, underfoot(model, view.target, ground ? 2 * tileOf(view) : 0), scaled(view.radius * (ground ? 12 : 1.5)));
    data.set(colour, 16);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    this.set("pattern", 1);
    gl.bindVertexArray((this.planes.array ??= this.bound(mesh, buffer, 0)));
    gl.drawArraysInstanced(gl.TRIANGLES, 0, mesh.count, 1);
  }

  /** Shadows on the first plane: solids flattened along the light, each place darkened once. */
  shadows(crowd, view) {
    const gl = this.gl, floor = crowd.planes.find(({model}) => model);
    if (!floor || hides(floor.model, view)) return;
    this.blended(() => {
      this.set("thrown", flattened(floor.model, LIGHT, 2e-3 * view.radius));
      this.set("veil", [0.05, 0.08, 0.12, 0.2]);
      this.set("pattern", 3);
      gl.depthMask(false);
      this.solids(crowd, true);
      gl.depthMask(true);
    });
    this.set("thrown", UNIT);
  }

  /** Bodies of the run that is compared with, faint: a veil over what is seen behind them, once at each place. */
  ghost(run, t, options) {
    this.gl.clear(this.gl.STENCIL_BUFFER_BIT);
    const crowd = this.placed(run, Math.min(t, run.t1), options), groups = crowd.groups.filter(({moving}) => moving);
    this.blended(() => {
      this.set("veil", [...rgb(theme.get("accent")), 0.28]);
      this.set("pattern", 3);
      this.solids({groups}, true);
    });
  }

  /** Draw something that shines through and is drawn once at each place. */
  blended(draw) {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 1);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    draw();
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

  /** Points and normals of a shape on the card, sent once. */
  mesh(solid, fine) {
    const gl = this.gl, key = `${solid.key ?? solid.kind} ${fine}`;
    if (!this.meshes.has(key)) {
      const {points, normals} = triangles(solid.kind === "sphere" ? {kind: "sphere", size: [1]} : solid, fine);
      const sent = [points, normals].map((data) => {
        const buffer = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.STATIC_DRAW);
        return buffer;
      });
      this.meshes.set(key, {sent, count: points.length / 3});
    }
    return this.meshes.get(key);
  }

  /** A mesh together with the places of its pieces, which begin at a number of their buffer. */
  bound({sent}, buffer, from) {
    const gl = this.gl, {attributes} = this.program, array = gl.createVertexArray(), bytes = 4 * PER_PIECE;
    gl.bindVertexArray(array);
    const take = (place, size, stride, offset, each) => {
      if (place < 0) return;
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, stride, offset);
      gl.vertexAttribDivisor(place, each);
    };
    ["point", "normal"].forEach((name, k) => { gl.bindBuffer(gl.ARRAY_BUFFER, sent[k]); take(attributes[name], 3, 0, 0, 0); });
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (let column = 0; column < 4; column++) take(attributes.model + column, 4, bytes, 4 * from + 16 * column, 1);
    take(attributes.colour, 3, bytes, 4 * from + 64, 1);
    return array;
  }
}

const VERTEX = `#version 300 es
in vec3 point; in vec3 normal;
in mat4 model; in vec3 colour;
uniform mat4 view; uniform mat4 thrown;
out vec3 world; out vec3 facing; out vec3 own; flat out vec3 paint;
void main() {
  vec4 at = thrown * model * vec4(point, 1.0);
  world = at.xyz; own = point; facing = mat3(model) * normal; paint = colour;
  gl_Position = view * at;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 world; in vec3 facing; in vec3 own; flat in vec3 paint;
uniform vec3 eye; uniform vec3 light; uniform vec4 veil; uniform int pattern; uniform float cell; uniform float faintness;
out vec4 result;
void main() {
  if (pattern == 3) { result = veil; return; }
  vec3 n = normalize(facing), to = normalize(eye - world);
  float sun = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pattern == 1 ? 0.0 : 0.22 * pow(max(dot(reflect(-light, n), to), 0.0), 28.0);
  vec3 base = paint;
  if (pattern == 2 && own.x * own.y * own.z < 0.0) base *= 0.72;
  if (pattern == 1) {
    vec2 at = own.xy * length(dFdx(world)) / max(length(dFdx(own)), 1e-12) / cell;
    float odd = mod(floor(at.x) + floor(at.y), 2.0);
    base *= 0.9 - 0.05 * odd;
    base = mix(base, vec3(base * 1.02), smoothstep(0.2, 1.0, length(world - eye) / faintness / 4.0));
  }
  result = vec4(base * (0.5 + 0.22 * sky + 0.48 * sun) + shine, 1.0);
}`;

/** Side of a tile of the ground [m]: it stays while the camera comes nearer. */
function tileOf(view) { return niceBelow(view.tile * 0.6); }

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
  const uniforms = ["view", "thrown", "eye", "light", "veil", "pattern", "cell", "faintness"];
  return {
    handle,
    places: Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(handle, name)])),
    attributes: Object.fromEntries(["point", "normal", "model", "colour"].map((name) => [name, gl.getAttribLocation(handle, name)])),
  };
}
