// ---- projected: scenes in space on a plain canvas, where WebGL 2 is missing; faces sorted by distance and filled ----

const SHADES = 24; // of a colour, from shadow to light
const CROWD = 60; // bodies from which on capsules are painted as pictures, as balls are
const CELL = 4; // pixels of a cell of the screen, for what is hidden behind nearer bodies
const LAYERS = 16384; // of depth
const BALL = -1, CAPSULE = -2, PATCH = -3; // things that are no faces
const ROOM = 0.35; // pixels by which faces reach over their neighbours, so that no seam shines through

class ProjectedStage extends SpaceView {
  draw(run, t, options) {
    this.earlier = options.earlier;
    const {context, width, height, ratio} = surface(this.canvas), view = this.look(run, t, width, height);
    const {bodies} = run.motion, places = this.placements(run, t), painting = (this.painting ??= new Painting());
    context.clearRect(0, 0, width, height);
    painting.begin(view, width, height, ratio, bodies.length > CROWD);
    const colour = (body, number) => shadesOf(this.colour(run, body, number, t, options));
    bodies.forEach((body, number) => places[number] && painting.planes(context, body, places[number], () => colour(body, number)));
    const hidden = painting.hidden(bodies, places);
    bodies.forEach((body, number) => places[number] && !hidden[number] && painting.body(body, places[number], colour(body, number)));
    painting.paint(context);
    this.painted = painting.count; // for tests and for the curious
    if (options.earlier?.motion?.kind === "space") this.ghost(context, options.earlier, t);
    drawOver(context, run, t, options, seenBy(view, width, height));
  }

  /** Bodies of the run that is compared with, faint. */
  ghost(context, run, t) {
    const places = this.placements(run, Math.min(t, run.t1)), accent = theme.get("accent"), shades = shadesOf(tint(accent, accent));
    this.painting.count = this.painting.used = 0;
    run.motion.bodies.forEach((body, number) => body.channel >= 0 && places[number] && this.painting.body(body, places[number], shades));
    context.globalAlpha = 0.2;
    this.painting.paint(context);
    context.globalAlpha = 1;
  }
}

/** What is to be painted in one frame: faces, balls and capsules with their depths.  Its arrays serve every frame again. */
class Painting {
  constructor() {
    this.depth = new Float32Array(1024);
    this.from = new Int32Array(1024); // where its numbers begin
    this.to = new Int32Array(1024); // where those of a face end; BALL or CAPSULE
    this.shades = []; // a fill, or the shades of which a picture is made
    this.numbers = new Float32Array(8192);
    this.seen = new Float32Array(3 * 256); // corners of a solid: x, y and depth
    this.matrix = new Float32Array(16);
    this.order = new Uint32Array(0);
    this.layers = new Int32Array(LAYERS + 1);
  }

  begin(view, width, height, ratio, crowd) {
    Object.assign(this, {view, width, height, ratio, crowd, count: 0, used: 0, focal: height / (2 * Math.tan(ANGLE / 2))});
  }

  /** Room for one more thing with so many numbers; where they begin. */
  add(depth, shade, room, to) {
    if (this.count === this.depth.length) for (const name of ["depth", "from", "to"]) this[name] = grown(this[name]);
    while (this.used + room > this.numbers.length) this.numbers = grown(this.numbers);
    const k = this.count++, from = this.used;
    this.depth[k] = depth;
    this.shades[k] = shade;
    this.from[k] = from;
    this.to[k] = to ?? from + room;
    this.used += room;
    return from;
  }

  /** Planes of a body, behind everything: their front, as far as it lies before the eye. */
  planes(context, body, place, shades) {
    for (const solid of body.solids) if (solid.kind === "plane") {
      const {view} = this, frame = multiplied(place, solid.own ??= framed(solid));
      if (hides(frame, view)) continue;
      const model = multiplied(underfoot(frame, view.target), scaled(view.radius * (frame[10] > 0.5 ? 4 : 1.5)));
      const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => transformed(view.matrix, transformed(model, [x, y, 0]).slice(0, 3)));
      context.beginPath();
      for (const [a, b, , w] of beforeTheEye(corners, 0.02 * view.distance)) context.lineTo(this.width * (0.5 + (0.5 * a) / w), this.height * (0.5 - (0.5 * b) / w));
      context.fillStyle = shades().fills[shadeOf(dot3(normalised([model[8], model[9], model[10]]), LIGHT))];
      context.fill();
    }
  }

  /** Bodies that stand wholly behind nearer ones, or beside the picture.  A body covers the cells within the ball that it holds. */
  hidden(bodies, places) {
    const columns = Math.ceil(this.width / CELL), rows = Math.ceil(this.height / CELL), found = new Uint8Array(bodies.length);
    if (this.covered?.length !== columns * rows) this.covered = new Uint8Array(columns * rows);
    this.covered.fill(0);
    const m = this.view.matrix, near = [];
    bodies.forEach((body, number) => {
      const place = places[number], ball = body.ball ??= ballOf(body);
      if (!place || ball.outer === Infinity) return;
      const [x, y, z] = ball.centre, p = place[0] * x + place[4] * y + place[8] * z + place[12], q = place[1] * x + place[5] * y + place[9] * z + place[13], r = place[2] * x + place[6] * y + place[10] * z + place[14];
      const w = m[3] * p + m[7] * q + m[11] * r + m[15];
      if (w - ball.outer <= 0.02 * this.view.distance) return; // around the eye
      const cx = this.width * (0.5 + (0.5 * (m[0] * p + m[4] * q + m[8] * r + m[12])) / w), cy = this.height * (0.5 - (0.5 * (m[1] * p + m[5] * q + m[9] * r + m[13])) / w);
      near.push({number, w, cx, cy, inner: (this.focal * ball.inner) / w, outer: (1.04 * this.focal * ball.outer) / (w - ball.outer) + 1});
    });
    near.sort((a, b) => a.w - b.w);
    for (const {number, cx, cy, inner, outer} of near) {
      if (this.covers(cx, cy, outer, columns, rows)) found[number] = 1;
      else if (inner > CELL) this.cover(cx, cy, inner - 0.5, columns, rows);
    }
    return found;
  }

  /** Whether all cells that a disk touches are covered; those beside the picture are. */
  covers(cx, cy, r, columns, rows) {
    const last = Math.min(rows - 1, Math.floor((cy + r) / CELL));
    for (let j = Math.max(0, Math.floor((cy - r) / CELL)); j <= last; j++) {
      const dy = Math.max(0, j * CELL - cy, cy - (j + 1) * CELL), half = Math.sqrt(Math.max(0, r * r - dy * dy)), end = Math.min(columns - 1, Math.floor((cx + half) / CELL));
      for (let i = Math.max(0, Math.floor((cx - half) / CELL)); i <= end; i++) if (!this.covered[j * columns + i]) return false;
    }
    return true;
  }

  /** Cover the cells that lie wholly within a disk. */
  cover(cx, cy, r, columns, rows) {
    const last = Math.min(rows, Math.floor((cy + r) / CELL));
    for (let j = Math.max(0, Math.ceil((cy - r) / CELL)); j < last; j++) {
      const dy = Math.max(cy - j * CELL, (j + 1) * CELL - cy);
      if (dy >= r) continue;
      const half = Math.sqrt(r * r - dy * dy), end = Math.min(columns, Math.floor((cx + half) / CELL));
      for (let i = Math.max(0, Math.ceil((cx - half) / CELL)); i < end; i++) this.covered[j * columns + i] = 1;
    }
  }

  /** All solids of a body but its planes. */
  body(body, place, shades) {
    const m = product(this.matrix, 0, this.view.matrix, place);
    for (const solid of body.solids) {
      if (solid.kind === "sphere") {
        this.round(solid, m, shades, 0);
        if (!this.crowd) this.octants(solid, m, place);
      }
      else if (solid.kind === "capsule" && this.crowd) this.round(solid, m, shades, solid.size[1]);
      else if (solid.kind !== "plane") this.faces((solid.facets ??= facets(solid)), m, place, shades);
    }
  }

  /** A ball, or a capsule with its axis along z, as a picture. */
  round({offset: [x, y, z], turn, size: [radius]}, m, shades, half) {
    const {width, height, numbers} = this, ends = [];
    for (const side of half ? [-half, half] : [0]) {
      const p = x + turn[2] * side, q = y + turn[5] * side, r = z + turn[8] * side, w = m[3] * p + m[7] * q + m[11] * r + m[15];
      if (w <= radius) return;
      ends.push([width * (0.5 + (0.5 * (m[0] * p + m[4] * q + m[8] * r + m[12])) / w), height * (0.5 - (0.5 * (m[1] * p + m[5] * q + m[9] * r + m[13])) / w), (this.focal * radius) / Math.sqrt(w * w - radius * radius), w]);
    }
    const from = this.add(ends.reduce((sum, end) => sum + end[3], 0) / ends.length, shades, 3 * ends.length, half ? CAPSULE : BALL);
    ends.sort((a, b) => b[3] - a[3]).forEach((end, k) => { for (let i = 0; i < 3; i++) this.numbers[from + 3 * k + i] = end[i]; });
  }

  /** Every other octant of a ball darker, so that it is seen to turn: what looks to the eye of them, filled at once. */
  octants({offset: [x, y, z], turn, size: [radius]}, m, place) {
    const {width, height, view} = this, [ex, ey, ez] = within(place, view.eye[0] - place[12], view.eye[1] - place[13], view.eye[2] - place[14]).map((v, i) => v - [x, y, z][i]);
    const w0 = m[3] * x + m[7] * y + m[11] * z + m[15];
    if (w0 <= radius) return;
    const from = this.add(w0, null, 2 * OCTANTS.length / 3, PATCH);
    let to = from;
    for (let i = 0; i < OCTANTS.length; i += 12) {
      const quad = [];
      let seen = false; // one of its corners
      for (let k = i; k < i + 12; k += 3) {
        const [a, b, c] = [OCTANTS[k], OCTANTS[k + 1], OCTANTS[k + 2]];
        const p = turn[0] * a + turn[1] * b + turn[2] * c, q = turn[3] * a + turn[4] * b + turn[5] * c, r = turn[6] * a + turn[7] * b + turn[8] * c;
        seen ||= p * ex + q * ey + r * ez > radius;
        quad.push(x + radius * p, y + radius * q, z + radius * r);
      }
      if (!seen) continue;
      for (let k = 0; k < 12; k += 3, to += 2) {
        const [a, b, c] = [quad[k], quad[k + 1], quad[k + 2]], w = m[3] * a + m[7] * b + m[11] * c + m[15];
        this.numbers[to] = width * (0.5 + (0.5 * (m[0] * a + m[4] * b + m[8] * c + m[12])) / w);
        this.numbers[to + 1] = height * (0.5 - (0.5 * (m[1] * a + m[5] * b + m[9] * c + m[13])) / w);
      }
    }
    this.shades[this.count - 1] = to; // where its numbers end
  }

  /** Faces that look to the eye, each a little wider than it is. */
  faces({points, corners, first, normals}, m, place, shades) {
    const {width, height, view} = this, count = points.length / 3;
    while (this.seen.length < 3 * count) this.seen = grown(this.seen);
    const seen = this.seen;
    for (let i = 0; i < count; i++) {
      const x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2], w = m[3] * x + m[7] * y + m[11] * z + m[15];
      seen[3 * i] = width * (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w);
      seen[3 * i + 1] = height * (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w);
      seen[3 * i + 2] = w;
    }
    const eye = within(place, view.eye[0] - place[12], view.eye[1] - place[13], view.eye[2] - place[14]), light = within(place, ...LIGHT);
    for (let f = 0; f + 1 < first.length; f++) {
      const a = first[f], b = first[f + 1], c = 3 * corners[a], nx = normals[3 * f], ny = normals[3 * f + 1], nz = normals[3 * f + 2];
      if (nx * (eye[0] - points[c]) + ny * (eye[1] - points[c + 1]) + nz * (eye[2] - points[c + 2]) <= 0) continue;
      let x = 0, y = 0, w = 0, least = Infinity;
      for (let k = a; k < b; k++) { const i = 3 * corners[k]; x += seen[i]; y += seen[i + 1]; w += seen[i + 2]; if (seen[i + 2] < least) least = seen[i + 2]; }
      if (least <= 0) continue; // behind the eye
      const n = b - a, from = this.add(w / n, shades.fills[shadeOf(nx * light[0] + ny * light[1] + nz * light[2])], 2 * n), numbers = this.numbers;
      x /= n; y /= n;
      for (let k = a, to = from; k < b; k++, to += 2) {
        const i = 3 * corners[k], dx = seen[i] - x, dy = seen[i + 1] - y, wider = 1 + ROOM / Math.max(1, Math.abs(dx) + Math.abs(dy));
        numbers[to] = x + wider * dx;
        numbers[to + 1] = y + wider * dy;
      }
    }
  }

  /** Everything, from the farthest to the nearest. */
  paint(context) {
    const {from, to, shades, numbers: v, count} = this, order = this.sorted();
    let fill = null;
    for (let place = 0; place < count; place++) {
      const k = order[place], i = from[k], end = to[k];
      if (end === BALL) { disk(context, ballPicture(shades[k], v[i + 2] * this.ratio), v[i], v[i + 1], v[i + 2]); continue; }
      if (end === CAPSULE) { this.capsule(context, shades[k], i); continue; }
      if (end === PATCH) { this.patch(context, i, shades[k]); fill = null; continue; }
      if (shades[k] !== fill) context.fillStyle = fill = shades[k];
      context.beginPath();
      context.moveTo(v[i], v[i + 1]);
      for (let j = i + 2; j < end; j += 2) context.lineTo(v[j], v[j + 1]);
      context.fill();
    }
  }

  /** Quadrangles darkened, each place once. */
  patch(context, from, to) {
    const v = this.numbers;
    context.beginPath();
    for (let i = from; i < to; i += 8) {
      context.moveTo(v[i], v[i + 1]);
      for (let k = i + 2; k < i + 8; k += 2) context.lineTo(v[k], v[k + 1]);
      context.closePath();
    }
    context.fillStyle = "rgba(0, 0, 0, 0.26)";
    context.fill();
  }

  /** Numbers of all things, the farthest first: by counting how many fall into each of many thin layers. */
  sorted() {
    const {depth, count, layers} = this;
    if (this.order.length < count) this.order = new Uint32Array(depth.length);
    let low = Infinity, high = -Infinity;
    for (let k = 0; k < count; k++) { if (depth[k] < low) low = depth[k]; if (depth[k] > high) high = depth[k]; }
    const scale = (LAYERS - 1) / (high - low || 1);
    layers.fill(0);
    for (let k = 0; k < count; k++) layers[LAYERS - Math.floor((depth[k] - low) * scale)]++;
    for (let i = 1; i <= LAYERS; i++) layers[i] += layers[i - 1];
    for (let k = 0; k < count; k++) this.order[layers[LAYERS - 1 - Math.floor((depth[k] - low) * scale)]++] = k;
    return this.order;
  }

  /** Two balls and what lies between them; seen along its axis the nearer ball stands before it. */
  capsule(context, shades, i) {
    const {numbers: v, ratio} = this, dx = v[i + 3] - v[i], dy = v[i + 4] - v[i + 1], length = Math.hypot(dx, dy), r = 0.5 * (v[i + 2] + v[i + 5]);
    disk(context, ballPicture(shades, v[i + 2] * ratio), v[i], v[i + 1], v[i + 2]);
    const cap = () => disk(context, ballPicture(shades, v[i + 5] * ratio), v[i + 3], v[i + 4], v[i + 5]);
    if (length > r) cap();
    if (length > 0) {
      const c = dx / length, s = dy / length;
      context.setTransform(ratio * c, ratio * s, -ratio * s, ratio * c, ratio * v[i], ratio * v[i + 1]);
      context.drawImage(stripPicture(shades, 0.35 * s - 0.4 * c), 0, -r, length, 2 * r);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    if (length <= r) cap();
  }
}


function grown(array) {
  const found = new array.constructor(2 * array.length);
  found.set(array);
  return found;
}

function disk(context, picture, x, y, r) { context.drawImage(picture, x - r, y - r, 2 * r, 2 * r); }

/** A direction of the world in the frame of a body. */
function within(place, x, y, z) {
  return [place[0] * x + place[1] * y + place[2] * z, place[4] * x + place[5] * y + place[6] * z, place[8] * x + place[9] * y + place[10] * z];
}

/** Corners of a polygon, cut off where it comes nearer to the eye than w. */
function beforeTheEye(corners, w) {
  return corners.flatMap((a, k) => {
    const b = corners[(k + 1) % corners.length], s = (w - a[3]) / (b[3] - a[3]), own = a[3] >= w ? [a] : [];
    return a[3] >= w === b[3] >= w ? own : [...own, a.map((x, i) => x + s * (b[i] - x))];
  });
}

// ---- colours and pictures, made once ---------------------------------------------------------------------------------

const shadesMade = new WeakMap();

/** A colour from shadow to light as fills, and as pictures of round things. */
function shadesOf(colour) {
  if (!shadesMade.has(colour)) {
    const fills = Array.from({length: SHADES + 1}, (_, k) => fillOf(colour.map((c) => c * (0.55 + (0.45 * k) / SHADES))));
    shadesMade.set(colour, {fills, full: fillOf(colour), bright: fillOf(blend(colour, [1, 1, 1], 0.45)), balls: new Map(), strips: new Map()});
  }
  return shadesMade.get(colour);
}

function fillOf(colour) { return `rgb(${colour.map((c) => Math.round(255 * c)).join(",")})`; }
function shadeOf(lit) { return Math.round(SHADES * Math.max(0, lit)); }

function picture(width, height, draw) {
  const canvas = Object.assign(document.createElement("canvas"), {width, height});
  draw(canvas.getContext("2d"));
  return canvas;
}

/** A ball about as large as it is shown: to shrink a large picture a thousand times takes longer than to draw it. */
function ballPicture({balls, bright, full}, radius) {
  const r = radius <= 8 ? 8 : radius <= 16 ? 16 : radius <= 32 ? 32 : 96;
  if (!balls.has(r)) balls.set(r, picture(2 * r, 2 * r, (context) => {
    const glow = context.createRadialGradient(0.65 * r, 0.6 * r, 0.1 * r, r, r, r);
    glow.addColorStop(0, bright);
    glow.addColorStop(1, full);
    context.arc(r, r, r, 0, 2 * Math.PI);
    context.fillStyle = glow;
    context.fill();
  }));
  return balls.get(r);
}

/** What lies between the balls of a capsule: brightest at a place from -1 to 1 across it. */
function stripPicture({strips, bright, full}, place) {
  const k = Math.round(8 * place);
  if (!strips.has(k)) strips.set(k, picture(2, 32, (context) => {
    const across = context.createLinearGradient(0, 0, 0, 32);
    [[0, full], [0.5 + k / 16, bright], [1, full]].forEach(([at, colour]) => across.addColorStop(at, colour));
    context.fillStyle = across;
    context.fillRect(0, 0, 2, 32);
  }));
  return strips.get(k);
}

// ---- faces of solids -------------------------------------------------------------------------------------------------

/** Corners of small quadrangles that cover every other octant of the unit ball, all turned the same way round. */
const OCTANTS = (() => {
  const found = [], n = 8, at = (i, j) => {
    const a = (Math.PI / 2) * (i / n), b = (Math.PI / 2) * (j / n - 1);
    return [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)];
  };
  for (let octant = 0; octant < 8; octant++) {
    const i0 = n * (octant % 4), j0 = octant < 4 ? 0 : n;
    if ((octant + (octant < 4)) % 2 === 0) continue;
    for (let i = i0; i < i0 + n; i++) for (let j = j0; j < j0 + n; j++) found.push(...at(i, j), ...at(i + 1, j), ...at(i + 1, j + 1), ...at(i, j + 1));
  }
  return found;
})();

/** Flat faces of a solid in its body's frame: points, corners by face, where the corners of each begin, and normals. */
function facets(solid) {
  const {points, faces} = solid.kind === "mesh" ? {points: solid.vertices, faces: solid.faces} : solid.kind === "capsule" ? capsuleFaces(solid.size, 12) : fieldFaces(solid);
  const own = framed(solid), moved = new Float32Array(points.length), normals = new Float32Array(3 * faces.length), first = [0];
  for (let i = 0; i < points.length; i += 3) moved.set(transformed(own, points.slice(i, i + 3)).slice(0, 3), i);
  const at = (k) => Array.from(moved.subarray(3 * k, 3 * k + 3));
  faces.forEach((face, f) => {
    const [a, b, c, d] = [face[0], face[1], face[2], face[3] ?? face[0]].map(at);
    normals.set(normalised(cross(sub(c, a), face.length > 3 ? sub(d, b) : sub(c, b))), 3 * f);
    first.push(first.at(-1) + face.length);
  });
  return {points: moved, corners: Uint32Array.from(faces.flat()), first, normals};
}

function capsuleFaces([radius, half], fine) {
  const points = [], faces = [];
  for (let j = 0; j <= fine; j++) for (let i = 0; i < fine; i++) {
    const a = (2 * Math.PI * i) / fine, b = Math.PI * (j / fine - 0.5);
    points.push(radius * Math.cos(b) * Math.cos(a), radius * Math.cos(b) * Math.sin(a), radius * Math.sin(b) + (j > fine / 2 ? half : -half));
  }
  for (let j = 0; j < fine; j++) for (let i = 0; i < fine; i++) {
    const next = (i + 1) % fine;
    faces.push([j * fine + i, j * fine + next, (j + 1) * fine + next, (j + 1) * fine + i]);
  }
  return {points, faces};
}

function fieldFaces({heights, size: [s]}) {
  const rows = heights.length, columns = heights[0].length, points = [], faces = [];
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) points.push((i - 0.5 * (rows - 1)) * s, (j - 0.5 * (columns - 1)) * s, heights[i][j]);
  for (let i = 0; i + 1 < rows; i++) for (let j = 0; j + 1 < columns; j++) {
    const a = i * columns + j, b = a + columns;
    faces.push([a, b, b + 1], [a, b + 1, a + 1]);
  }
  return {points, faces};
}

/** A ball around a body, and one within it, zero where none is known; infinite for planes and fields. */
function ballOf({solids}) {
  if (solids.some(({kind}) => kind === "plane" || kind === "field")) return {outer: Infinity, inner: 0, centre: [0, 0, 0]};
  if (solids.length > 1) return {outer: Math.max(...solids.map((solid) => Math.hypot(...solid.offset) + ownBall(solid).outer)), inner: 0, centre: [0, 0, 0]};
  return {...ownBall(solids[0]), centre: solids[0].offset};
}

/** The balls of one solid about its own origin. */
function ownBall(solid) {
  const {kind, size: [radius, half = 0], offset} = solid;
  if (kind !== "mesh") return {outer: radius + half, inner: radius};
  const {points, corners, first, normals} = solid.facets ??= facets(solid), from = (k) => [0, 1, 2].map((i) => points[3 * k + i] - offset[i]);
  let outer = 0, inner = Infinity;
  for (let k = 0; k < points.length / 3; k++) outer = Math.max(outer, Math.hypot(...from(k)));
  for (let f = 0; f + 1 < first.length; f++) inner = Math.min(inner, dot3(from(corners[first[f]]), Array.from(normals.subarray(3 * f, 3 * f + 3))));
  return {outer, inner: inner > 0 && closed(solid.faces) ? inner : 0};
}

/** Whether each edge of the faces is met from both sides. */
function closed(faces) {
  const edges = new Set(faces.flatMap((face) => face.map((a, k) => `${a} ${face[(k + 1) % face.length]}`)));
  return [...edges].every((edge) => edges.has(edge.split(" ").reverse().join(" ")));
}
