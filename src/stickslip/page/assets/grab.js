// ---- grab: take a body, move it, throw it; the run begins anew from where it was let go ----------------------------

const LATEST = 120; // milliseconds of a movement that make the speed of a throw
const CLICK = 4; // pixels below which nothing was moved

const hand = {held: null, next: null, busy: false, trail: []};

/** The body under the pointer, where this page can simulate from another start. */
function bodyAt(event) {
  const run = app.run;
  if (!live() || !run?.motion || !app.stage?.pick || !app.description?.controls.length || event.shiftKey) return null;
  const {left, top} = byId("stage").getBoundingClientRect();
  return app.stage.pick(run, app.t, event.clientX - left, event.clientY - top);
}

/** Take hold of the body under the pointer; false where there is none. */
function take(event) {
  const found = bodyAt(event);
  if (!found) return false;
  const {run} = app, wanted = request(), {left, top} = byId("stage").getBoundingClientRect();
  play(false);
  const at = app.t - run.t0 < run.method.dt ? 0 : app.t - run.t0;
  hand.held = {...found, left, top, from: [event.clientX, event.clientY], moved: false, begin: run.t0, request: {...wanted, t_end: found.scene ? wanted.t_end : at}};
  hand.trail = [];
  if (found.scene) go(run.t0); // a scene is grabbed at its start
  return true;
}

function carry(event) {
  const held = hand.held, {left, top, from} = held;
  held.moved ||= Math.hypot(event.clientX - from[0], event.clientY - from[1]) > CLICK;
  if (!held.moved) return;
  const world = held.world(event.clientX - left, event.clientY - top), now = performance.now();
  held.last = world;
  hand.trail = [...hand.trail.filter(([time]) => now - time < LATEST), [now, world]];
  hand.next = {to: held.target(world), velocity: world.map(() => 0)};
  follow();
}

function letGo() {
  const held = hand.held, now = performance.now();
  hand.held = null;
  if (!held?.moved) return;
  const trail = hand.trail.filter(([time]) => now - time < LATEST), [first, last] = [trail[0], trail.at(-1)];
  const span = trail.length > 1 ? ((last[0] - first[0]) / 1000) * app.speed : 0; // seconds of the mechanism's own time
  const world = held.last, velocity = world.map((_, k) => (span > 0 ? (last[1][k] - first[1][k]) / span : 0));
  hand.next = {to: held.target(world), velocity, ends: held};
  follow(held);
}

/** Ask for the start that belongs to the latest place of the hand, and simulate from there. */
async function follow(held = hand.held) {
  if (hand.busy) return;
  hand.busy = true;
  try {
    while (hand.next) {
      const {to, velocity, ends} = hand.next, body = ends ?? held;
      hand.next = null;
      const {start} = await (await ask("api/grab", {...body.request, grab: {body: body.body, point: body.point, to, velocity}})).json();
      Object.assign(settings.start, start);
      app.showControls?.();
      await simulate({time: body.begin});
      if (ends) { say(`Let go at ${figure(Math.hypot(...velocity), 3)} m/s. Reset takes it back.`); play(true); }
    }
  } catch (error) { complain(error.message); } finally { hand.busy = false; }
}

/** A hand above a body that can be grabbed. */
function hover(event) { byId("stage").classList.toggle("on-body", Boolean(bodyAt(event))); }
