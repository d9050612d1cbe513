// ---- overlay: joints, springs and contact forces of scenes, over their bodies --------------------------------------

/** Draw them on a canvas; `seen` maps a point of the world to the canvas, or to null where it is behind the eye. */
function drawOver(context, run, t, options, seen) {
  const {links, forces} = run.motion, at = between(run.motion.t, t);
  if (links) drawLinks(context, links, run.motion.t.length, at, seen);
  if (forces && options.arrows) drawForces(context, forces, at.s > 0.5 ? at.j : at.i, seen);
}

function drawLinks(context, {kinds, track}, frames, at, seen) {
  const dim = track.length / (2 * kinds.length * frames);
  kinds.forEach((kind, k) => {
    const end = (side) => Array.from({length: dim}, (_, i) => mixed(track, at, 2 * dim * kinds.length, dim * (2 * k + side) + i));
    const a = seen(end(0)), b = seen(end(1));
    if (!a || !b || [...a, ...b].some(Number.isNaN)) return;
    if (kind === "spring") coil(context, a, b);
    else if (Math.hypot(a[0] - b[0], a[1] - b[1]) > 6) stretch(context, a, b, [], theme.get("edge"), 1.3);
    else ring(context, a);
  });
}

function stretch(context, a, b, dash, colour, width) {
  context.beginPath();
  context.setLineDash(dash);
  context.moveTo(a[0], a[1]);
  context.lineTo(b[0], b[1]);
  Object.assign(context, {strokeStyle: colour, lineWidth: width});
  context.stroke();
  context.setLineDash([]);
}

function ring(context, [x, y]) {
  context.beginPath();
  context.arc(x, y, 3.2, 0, 2 * Math.PI);
  Object.assign(context, {fillStyle: theme.get("card"), strokeStyle: theme.get("outline"), lineWidth: 1.2});
  context.fill();
  context.stroke();
}

function coil(context, a, b) {
  const dx = b[0] - a[0], dy = b[1] - a[1], length = Math.hypot(dx, dy) || 1, turns = 9, half = Math.min(6, 0.12 * length);
  context.beginPath();
  for (let i = 0; i <= 12 * turns; i++) {
    const s = i / (12 * turns), inside = Math.min(1, Math.max(0, (s - 0.1) / 0.8)), wave = half * Math.sin(2 * Math.PI * turns * inside);
    context.lineTo(a[0] + s * dx - (wave * dy) / length, a[1] + s * dy + (wave * dx) / length);
  }
  Object.assign(context, {strokeStyle: theme.get("spring"), lineWidth: 1.4});
  context.stroke();
}

/** Arrows of the forces on bodies that move; those of impacts are cut to a length. */
function drawForces(context, {first, point, force, typical}, frame, seen) {
  const dim = point.length / (first.at(-1) || 1);
  for (let k = first[frame]; k < first[frame + 1]; k++) {
    const x = Array.from(point.subarray(dim * k, dim * (k + 1))), f = Array.from(force.subarray(dim * k, dim * (k + 1)));
    const size = Math.hypot(...f), tail = seen(x);
    if (!(size > 0) || !tail) continue;
    const tip = seen(x.map((v, i) => v + (f[i] * 1e-3) / size));
    if (!tip) continue;
    const angle = Math.atan2(tip[1] - tail[1], tip[0] - tail[0]), length = Math.min(64, 40 * (size / typical));
    if (length < 2) continue;
    arrowTo(context, tail, angle, length);
  }
}

/** An arrow with a rim in the colour of the stage, so that it is seen on dark bodies, too. */
function arrowTo(context, [x, y], angle, length) {
  const [tx, ty] = [x + length * Math.cos(angle), y + length * Math.sin(angle)], head = Math.min(8, 0.4 * length + 2);
  const neck = [tx - 0.7 * head * Math.cos(angle), ty - 0.7 * head * Math.sin(angle)];
  const tip = () => {
    context.beginPath();
    context.moveTo(tx, ty);
    for (const side of [-0.42, 0.42]) context.lineTo(tx - head * Math.cos(angle + side), ty - head * Math.sin(angle + side));
    context.closePath();
  };
  stretch(context, [x, y], neck, [], theme.get("stage"), 4.2);
  tip();
  Object.assign(context, {strokeStyle: theme.get("stage"), lineWidth: 2.4, lineJoin: "round"});
  context.stroke();
  stretch(context, [x, y], neck, [], theme.get("ink"), 1.8);
  tip();
  context.fillStyle = theme.get("ink");
  context.fill();
}
