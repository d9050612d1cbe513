// ---- main: the run that is shown, the clock, requests, keys ------------------------------------------------------

const SPEEDS = [4, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
const PATIENCE = 600; // milliseconds after which a run under way is given up for a newer one
const GROUPS = [["coordinate", "Coordinates"], ["velocity", "Velocities"], ["gap", "Gaps"], ["normal force", "Normal forces"], ["tangential force", "Friction"], ["reaction", "Reactions"], ["energy", "Energy"]];

const app = {run: null, stage: null, stageKind: "", t: 0, playing: false, speed: 1, controls: [], inFlight: false, waiting: false, dirty: true, frames: 0};
const plots = {history: new History(byId("history")), phase: new Phase(byId("phase")), ribbon: new Ribbon(byId("ribbon"))};

// ---- showing -----------------------------------------------------------------------------------------------------

function show(raw, {fresh = false, time} = {}) {
  const run = prepared(raw), part = app.run ? (app.t - app.run.t0) / (app.run.t1 - app.run.t0) : 0;
  app.run = run;
  if (fresh) { compare(false); begin(run); }
  app.t = time !== undefined ? Math.min(run.t1, Math.max(run.t0, time)) : fresh ? run.t0 : run.t0 + part * (run.t1 - run.t0);
  chooseStage(run, fresh);
  byId("title").textContent = run.title;
  byId("source").textContent = run.source;
  byId("stage").setAttribute("aria-label", `${run.title}, in motion`);
  document.title = `${run.title} · stickslip`;
  byId("ribbon").style.height = `${15 * Math.max(1, bandsOf(run).length) + 10}px`;
  for (const plot of Object.values(plots)) plot.stale = true;
  showContacts(run);
  showNumbers(run);
  sizeStage(run);
  app.dirty = true;
  paint();
  clearTimeout(app.placing);
  if (fresh) placeClock(run);
  else app.placing = setTimeout(() => placeClock(app.run), SETTLED);
}

/** The clock stands in the upper corner in which less is drawn as the run goes on; below the picture, where it would hide something in both. */
function placeClock(run) {
  const clock = byId("clock");
  clock.classList.remove("below");
  const covered = [false, true].map((aside) => {
    clock.classList.toggle("aside", aside);
    return app.stageKind === "plane" ? app.stage.covered(run, clock.getBoundingClientRect()) : Number(aside);
  });
  clock.classList.toggle("aside", covered[1] < covered[0]);
  clock.classList.toggle("below", app.stageKind === "plane" && Math.min(...covered) > HIDDEN * clock.offsetWidth * clock.offsetHeight);
  paint();
}

const SETTLED = 400; // milliseconds after the last move of a slider
const HIDDEN = 0.01; // part of the clock behind which something may stand, on average

/** A system that was not shown before: curves, axes and speed that suit it. */
function begin(run) {
  const groups = GROUPS.filter(([group]) => run.curves.some((curve) => curve.group === group));
  const many = run.curves.filter((c) => c.group === "coordinate").length > MOST_CURVES;
  plots.history.groups = new Set(many ? ["energy"] : ["coordinate", "velocity"]);
  byId("groups").replaceChildren(...groups.map(([group, name]) => groupButton(group, name)));
  phaseChoices(run);
  const span = run.motion?.span ?? run.t1 - run.t0;
  setSpeed(SPEEDS.find((speed) => span / speed >= 3) ?? SPEEDS.at(-1));
}

function groupButton(group, name) {
  const button = element("button", {type: "button", "aria-pressed": `${plots.history.groups.has(group)}`, "data-group": group}, name);
  button.addEventListener("click", () => {
    const groups = plots.history.groups;
    if (groups.has(group)) { if (groups.size > 1) groups.delete(group); } else groups.add(group);
    button.setAttribute("aria-pressed", `${groups.has(group)}`);
    plots.history.stale = app.dirty = true;
  });
  return button;
}

/** The coordinate whose velocity moves most, relative to its mean, against that velocity. */
function phaseChoices(run) {
  const names = run.curves.filter((curve) => ["coordinate", "velocity", "gap"].includes(curve.group));
  const options = () => names.map((curve) => element("option", {value: `${curve.number}`}, `${curve.group === "gap" ? "gap " : ""}${spoken(curve.name)}`));
  const coordinates = names.filter((c) => c.group === "coordinate"), velocities = names.filter((c) => c.group === "velocity");
  const pairs = phasePairs(coordinates, velocities);
  const swings = ([, v]) => (v.high - v.low > 1e-6 * v.scale && v.low < 0 && v.high > 0 ? Math.min(-v.low, v.high) / (v.high - v.low) : 0);
  const best = pairs.reduce((a, b) => (swings(b) > swings(a) || (swings(b) === swings(a) && swings(a) > 0) ? b : a));
  for (const [id, axis, number] of [["phase-x", "xNumber", best[0].number], ["phase-y", "yNumber", best[1].number]]) {
    const select = byId(id);
    select.replaceChildren(...options());
    select.value = `${number}`;
    plots.phase[axis] = number;
    select.onchange = () => { plots.phase[axis] = +select.value; plots.phase.stale = app.dirty = true; };
  }
}

/** Coordinates with their velocities: in their order, or by the names that a scene gives (cube.x, cube.vx). */
function phasePairs(coordinates, velocities) {
  const velocityOf = (name) => (name.endsWith(".angle") ? name.replace(/angle$/, "omega") : name.replace(/\.([xyz])$/, ".v$1"));
  const named = coordinates.map((c) => [c, velocities.find((v) => v.name === velocityOf(c.name))]).filter(([c, v]) => v && c.name.includes("."));
  if (named.length) return named;
  return coordinates.length === velocities.length ? coordinates.map((c, i) => [c, velocities[i]]) : [[coordinates[0], velocities[0]]];
}

function chooseStage(run, fresh) {
  const kind = run.motion?.kind ?? "none";
  byId("no-picture").hidden = kind !== "none";
  document.querySelector(".stage-tools").hidden = kind === "none";
  const marked = kind === "plane" && run.motion.shapes.some((shape) => shape.kind === "marker");
  byId("cones").parentElement.hidden = !marked;
  byId("arrows").parentElement.hidden = !marked && !run.motion?.forces;
  byId("over").hidden = kind !== "space";
  if (kind === app.stageKind) { if (fresh) app.stage?.fit(); return; }
  const old = byId("stage"), canvas = old.cloneNode(false); // a canvas has one kind of context for its life
  old.replaceWith(canvas);
  app.stageKind = kind;
  app.stage = kind === "plane" ? new PlaneStage(canvas) : kind === "space" ? spaceStage(canvas) : new GaugeStage(canvas);
}

/** A wide mechanism gets a wide stage, with the numbers below it. */
function layOut(wide) {
  const main = document.querySelector("main"), numbers = byId("numbers-part");
  main.classList.toggle("wide", wide);
  const place = wide && window.innerWidth > 760 ? byId("numbers-place") : document.querySelector(".lower");
  if (numbers.parentElement !== place) place.append(numbers);
}

/** A wide mechanism needs a low stage. */
function sizeStage(run) {
  const [x0, x1, y0, y1] = run.motion?.view ?? [0, 1, 0, 0.9], stage = byId("stage");
  const card = document.querySelector(".stage-card"), others = card.offsetTop + card.offsetHeight - stage.offsetHeight + 16;
  const most = window.innerWidth <= 760 ? 0.42 * window.innerHeight : Math.max(260, window.innerHeight - others);
  layOut(x1 - x0 > 1.4 * (y1 - y0));
  const gauges = Math.min(6, run.curves.filter((curve) => curve.group === "coordinate").length);
  const wanted = run.motion ? stage.clientWidth * ((y1 - y0) / (x1 - x0)) + 40 : 80 + 100 * gauges, height = `${Math.round(Math.min(760, most, Math.max(240, wanted)))}px`;
  if (stage.style.height !== height) stage.style.height = height;
}

function showContacts(run) {
  const list = byId("contacts");
  list.classList.toggle("hidden", run.contacts.length > 8); // the bands below have their names, too
  list.replaceChildren(...run.contacts.slice(0, 12).map((contact) =>
    element("li", {}, element("span", {class: "dot"}), element("b", {}, contact.name), element("span", {class: "state"}, "open"))));
  const seen = new Set(run.contacts.flatMap((contact) => [...contact.state]));
  if (run.impacts.t.length) seen.add(IMPACT);
  byId("legend").replaceChildren(...[1, 2, 3, 5, 4].filter((state) => seen.has(state)).map((state) =>
    element("span", {title: STATE_MEANINGS[state]}, element("span", {class: `dot ${STATES[state]}`}), state === 1 && run.contacts.some((_, k) => roundBody(run, k)) ? "stick, roll" : STATE_WORDS[state])));
}

function showNumbers(run) {
  const {energy, certificate, proof, period, impacts} = run.numbers, {method} = run;
  const rows = [
    ["period", period ? `${figure(period.value, 5)} s` : "none seen", "", "After this time the velocities of the second half of the run repeat themselves"],
    ["impacts", `${run.impacts.total}`, "", Object.entries(impacts).map(([name, n]) => `${name} ${n}`).join(", ")],
    null,
    ["energy at start", `${figure(energy.start, 5)} J`],
    ["contacts", `${figure(energy.contacts, 4)} J`, "", "Work of the contacts, negative where they dissipate"],
    ...(energy.projection ? [["projection", `${figure(energy.projection, 3)} J`, "", "Energy that the projection of positions added"]] : []),
    ["steps and applied forces", `${figure(energy.integration, 3)} J`, "", "Work of motors and other forces without a potential, and what the steps themselves added by discretisation"],
    ["energy at end", `${figure(energy.end, 5)} J`],
    null,
    ...proof.map(({name, value, meaning}, i) => [name, value.replace(/-(?=\d)/g, "−"), i ? "" : certificate.failed_steps ? "bad" : "good", meaning]),
    null,
    ["stepper", method.stepper],
    ["solver", method.solver],
    ["steps", `${method.steps.toLocaleString("en")} × ${figure(method.dt, 3)} s`],
    ["computed in", duration(method.wall_s)],
  ];
  byId("numbers").replaceChildren(...rows.flatMap((row) => {
    if (!row) return [element("div", {class: "rule"})];
    const [name, value, mark = "", title = ""] = row;
    const parts = value.split(/ (?=\()|(?<=,) /).map((part) => element("span", {}, part));
    return [element("dt", {title}, name), element("dd", {class: mark, title}, ...parts.flatMap((part, i) => (i ? [" ", part] : [part])))];
  }));
  const cut = run.status.startsWith("interrupted"), notes = run.notes ?? [];
  complain(run.complete || cut ? "" : `The run ended early: ${run.status}`);
  tell("notice", (cut && !notes.length ? [`The run was ${run.status}`] : notes).join(" · "));
}

/** What went wrong, on the stage and at the field that was changed last; a notice is what one should know of a run that went well. */
function complain(text, refused = false) {
  tell("message", text);
  for (const row of document.querySelectorAll(".control.refused")) row.classList.remove("refused");
  if (text && refused) settings.touched?.classList.add("refused");
}

/** Cover the stage while another system is on its way, so that no two systems are seen at once. */
function loading(words) {
  clearInterval(app.counting);
  byId("loading").hidden = !words;
  document.querySelector("main").classList.toggle("loading", Boolean(words));
  if (!words) return;
  const from = performance.now(), show = () => {
    const seconds = Math.floor((performance.now() - from) / 1000);
    byId("loading").textContent = seconds < 2 ? words : `${words}\nMachine code is made once for a system; the next time it is there. ${seconds} s`;
  };
  show();
  app.counting = setInterval(show, 500);
}

/** Hold the run that is shown as one to compare those that follow with, or let it go. */
function compare(on) {
  app.earlier = on ? app.run : null;
  byId("compare").checked = on;
  for (const plot of Object.values(plots)) Object.assign(plot, {earlier: app.earlier, stale: true});
  app.dirty = true;
}

function tell(id, text) {
  byId(id).hidden = !text;
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function say(text) { byId("status").textContent = text; }

// ---- every frame -------------------------------------------------------------------------------------------------

function paint() {
  const run = app.run;
  if (!run) return;
  app.stage?.draw(run, app.t, {speed: holding(), arrows: byId("arrows").checked, cones: byId("cones").checked, earlier: app.earlier});
  plots.phase.speed = app.speed;
  for (const plot of Object.values(plots)) plot.paint(run, app.t);
  const part = (app.t - run.t0) / (run.t1 - run.t0 || 1), scrub = byId("scrub");
  if (document.activeElement !== scrub || app.playing) scrub.value = Math.round(1000 * part);
  scrub.setAttribute("aria-valuetext", clockText(app.t, run.t1 - run.t0));
  byId("clock").firstChild.nodeValue = `t = ${clockText(app.t, run.t1 - run.t0)}`;
  paintContacts(run);
  if (byId("values-box").open) paintValues(run);
  app.dirty = false;
  app.frames++;
}

/** Seconds of the run per second for which an impact stays lit: longer in motion than when one looks at an instant. */
function holding() { return app.playing ? app.speed : 0.25 * app.speed; }

function paintContacts(run) {
  const rows = byId("contacts").children;
  for (let k = 0; k < rows.length; k++) {
    const state = stateAt(run, k, app.t, HELD * holding()), [mark, , word] = rows[k].children;
    const rolling = state === 1 && rolls(run, k, app.t), shown = `${state}${rolling ? " rolls" : ""}`;
    if (rows[k].dataset.state === shown) continue;
    rows[k].dataset.state = shown;
    mark.className = `dot ${state ? STATES[state] : ""}`;
    word.textContent = rolling ? "roll" : STATE_WORDS[state];
  }
}

function paintValues(run) {
  const at = between(run.history.t, app.t), body = byId("values").tBodies[0];
  const curves = run.curves.slice(0, 60);
  if (body.rows.length !== curves.length)
    body.replaceChildren(...curves.map((c) => element("tr", {}, element("th", {scope: "row"}, `${["coordinate", "velocity"].includes(c.group) ? "" : `${c.group} `}${spoken(c.name)}`), element("td", {}))));
  curves.forEach((c, i) => { body.rows[i].cells[1].textContent = `${figure(mixed(c.values, at), 6)} ${unitText(c.unit)}`; });
}

let last = 0;
function tick(now) {
  const passed = Math.min(0.1, (now - last) / 1000);
  last = now;
  if (app.playing && app.run) {
    app.t += passed * app.speed;
    if (app.t >= app.run.t1) app.t = app.t - app.run.t1 < 0.6 * app.speed ? app.run.t1 + (app.t - app.run.t1) : app.run.t0;
    app.dirty = true;
  }
  if (app.dirty) {
    const t = app.t, begin = performance.now();
    if (app.run) app.t = Math.min(t, app.run.t1);
    paint();
    app.t = t;
    app.cost = performance.now() - begin; // milliseconds of a frame that are ours; the browser and the card take theirs after it
    if (app.run && app.t >= app.run.t1 + 0.6 * app.speed) app.t = app.run.t0; // rest a moment, then begin again
  }
  requestAnimationFrame(tick);
}

// ---- transport ---------------------------------------------------------------------------------------------------

function play(on = !app.playing) {
  if (on && app.run && app.t >= app.run.t1 - 1e-9) app.t = app.run.t0;
  app.playing = on;
  byId("play").setAttribute("aria-pressed", `${on}`);
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
}

function go(t) {
  app.t = Math.min(app.run.t1, Math.max(app.run.t0, t));
  app.dirty = true;
}

function stepFrames(n) {
  play(false);
  go(app.t + n * Math.max(app.speed / 30, 0));
}

function setSpeed(speed) {
  app.speed = speed;
  byId("speed").value = `${speed}`;
  byId("clock").lastChild.textContent = speed === 1 ? "real time" : speed < 1 ? `${+(1 / speed).toPrecision(3)}× slower` : `${speed}× faster`;
}

function changeSpeed(by) {
  const i = SPEEDS.indexOf(app.speed) + by;
  if (SPEEDS[i]) setSpeed(SPEEDS[i]);
}

// ---- the server --------------------------------------------------------------------------------------------------

async function ask(path, body, signal) {
  const options = body === undefined ? {} : {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal};
  let answer;
  try { answer = await fetch(path, options); }
  catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer; is `stickslip view` still running?");
  }
  if (!answer.ok) throw new Error((await answer.json()).error ?? answer.statusText);
  return answer;
}

/** Simulate with the settings as they are.  One request is under way; of those that come meanwhile the last is sent, and
 *  a run that takes long is given up for it. */
async function simulate(options = {}) {
  if (app.inFlight) {
    app.waiting = true;
    if (performance.now() - app.sent > PATIENCE) app.asking.abort();
    return;
  }
  app.inFlight = true;
  const busy = setTimeout(() => { byId("busy").hidden = false; }, 250), asked = performance.now();
  const long = setTimeout(() => say("Preparing machine code for this system, once; the next time it is there."), 2000);
  try {
    do {
      app.waiting = false;
      app.sent = performance.now();
      app.asking = new AbortController();
      const found = app.kernels ? app.kernels(request()) : await (await ask("api/run", request(), app.asking.signal)).json();
      if (found.system !== undefined) { show(found, options); app.shown = settings.system; }
      options = {};
      const took = (performance.now() - asked) / 1000;
      say(`${found.method.steps.toLocaleString("en")} steps computed in ${duration(found.method.wall_s)}, shown after ${took.toFixed(2)} s.`);
      byId("command").textContent = command();
      if (live()) history.replaceState(null, "", differs() ? toHash() : settings.system === app.first ? location.pathname : `#system=${encodeURIComponent(settings.system)}`);
      app.took = took;
    } while (app.waiting);
  } catch (error) {
    if (error.name !== "AbortError") complain(error.message, true);
    if (app.waiting) { app.inFlight = false; clearTimeout(busy); clearTimeout(long); simulate(options); return; }
  } finally {
    clearTimeout(busy);
    clearTimeout(long);
    byId("busy").hidden = true;
    if (!app.waiting) loading("");
    app.inFlight = false;
    app.answers = (app.answers ?? 0) + 1;
  }
}

async function choose(system, hash = "") {
  resetSettings(system);
  app.shown = null;
  const time = fromHash(hash);
  byId("system").value = system;
  loading(`Loading ${spokenWords(system)} …`);
  byId("title").textContent = spokenWords(system);
  byId("source").textContent = byId("command").textContent = "";
  complain("");
  tell("notice", "");
  try {
    app.description = await (await ask(`api/system?${encodeURIComponent(system)}`)).json();
    settings.stepper ??= app.description.stepper;
    settings.own = app.description.stepper;
    app.showControls = buildControls(byId("controls"), app.description, app.description.steppers, () => simulate());
  } catch (error) { loading(""); complain(error.message); return; }
  byId("command-line").hidden = !app.description.controls.length;
  await simulate({fresh: true, time});
  if (app.inFlight || app.shown === system || settings.system !== system || !differs()) return;
  const refused = byId("message").textContent, own = app.description.stepper; // a link asked for what the system refuses
  Object.assign(resetSettings(system), {stepper: own, own});
  app.showControls();
  await simulate({fresh: true});
  if (app.shown === system) complain(`${refused} It is shown with its own values.`);
}

/** The system and the settings of the address: at the start, after Back, or of a link that was pasted. */
async function chooseAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("system");
  if (wanted === null || wanted in app.kinds) return choose(wanted ?? app.first, location.hash);
  await choose(app.first);
  complain(`There is no '${wanted}' on this page; it shows ${spokenWords(app.first)}. "Pictures" has all there are.`);
}

/** A system that was picked by hand: Back leads to the one before. */
function goTo(system) {
  history.pushState(null, "", `#system=${encodeURIComponent(system)}`);
  return choose(system);
}

function reset() {
  if (!app.description) return;
  if (app.kernels) { resetSettings(settings.system); app.showControls(); simulate(); return; }
  choose(settings.system); // a model file may have changed meanwhile
}

async function share() {
  history.replaceState(null, "", toHash(app.t));
  try {
    await navigator.clipboard.writeText(location.href);
    say("A link with these parameters is on the clipboard.");
  } catch { say(`The link with these parameters stands in the address bar: ${location.href}`); }
}

async function exportPage() {
  try {
    const blob = await (await ask("api/export", request())).blob();
    download(blob, "text/html", `${fileName()}.html`);
    say(`A page of ${Math.round(blob.size / 1000)} kB that needs no server was written.`);
  } catch (error) { complain(error.message); }
}

// ---- pointer and keys --------------------------------------------------------------------------------------------

function bindStage() {
  const box = document.querySelector(".stage-wrap");
  let from = null;
  box.addEventListener("pointerdown", (event) => {
    if (event.target.id !== "stage") return;
    box.setPointerCapture(event.pointerId);
    if (!take(event)) from = [event.clientX, event.clientY];
  });
  box.addEventListener("pointermove", (event) => {
    if (hand.held) { carry(event); return; }
    if (!from) { hover(event); return; }
    app.stage?.drag(event.clientX - from[0], event.clientY - from[1]);
    from = [event.clientX, event.clientY];
    app.dirty = true;
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { from = null; letGo(); });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const {left, top} = byId("stage").getBoundingClientRect();
    magnify(Math.exp(-0.0025 * event.deltaY), event.clientX - left, event.clientY - top);
  }, {passive: false});
  byId("zoom-in").addEventListener("click", () => magnify(1.5));
  byId("zoom-out").addEventListener("click", () => magnify(1 / 1.5));
  byId("zoom-fit").addEventListener("click", () => { app.stage?.fit(); app.dirty = true; });
}

function magnify(factor, x, y) { app.stage?.magnify(factor, x, y); app.dirty = true; }

/** Hover values, and a click goes to that instant. */
function bindPlot(plot, canvas) {
  const tip = element("div", {class: "tip", hidden: true});
  document.body.append(tip);
  const at = (event) => { const {left, top} = canvas.getBoundingClientRect(); return [event.clientX - left, event.clientY - top]; };
  canvas.addEventListener("pointermove", (event) => {
    const found = app.run && plot.hover(app.run, ...at(event));
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found.text;
    const right = event.clientX + 16 + tip.offsetWidth > window.innerWidth;
    tip.style.left = `${event.clientX + (right ? -tip.offsetWidth - 14 : 16)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 6)}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { const found = app.run && plot.hover(app.run, ...at(event)); if (found) { play(false); go(found.t); } });
}

function bindRibbon(canvas) {
  const to = (event) => { play(false); go(plots.ribbon.time(event.clientX - canvas.getBoundingClientRect().left)); };
  canvas.addEventListener("pointerdown", (event) => { if (app.run) { canvas.setPointerCapture(event.pointerId); to(event); } });
  canvas.addEventListener("pointermove", (event) => { if (app.run && event.buttons) to(event); });
}

const KEYS = {
  " ": () => play(), ArrowLeft: (e) => stepFrames(e.shiftKey ? -10 : -1), ArrowRight: (e) => stepFrames(e.shiftKey ? 10 : 1),
  Home: () => go(app.run.t0), End: () => { play(false); go(app.run.t1); }, "<": () => changeSpeed(1), ">": () => changeSpeed(-1),
  "+": () => magnify(1.5), "=": () => magnify(1.5), "-": () => magnify(1 / 1.5), 0: () => { app.stage?.fit(); app.dirty = true; },
  r: () => reset(), c: () => compare(!app.earlier), t: () => dress(!dark()), p: () => live() && openPicker(), s: () => live() && share(), e: () => live() && exportPage(), "?": () => byId("keys").showModal(),
};

function live() { return !document.body.classList.contains("from-disk"); }

function onKey(event) {
  const tag = event.target.tagName, turned = ["checkbox", "range"].includes(event.target.type), own = turned || ["BUTTON", "SUMMARY"].includes(tag);
  if (event.ctrlKey || event.metaKey || event.altKey || !app.run || byId("keys").open || byId("picker").open) return;
  if ((["INPUT", "SELECT", "TEXTAREA"].includes(tag) && !turned) || (own && event.key === " ") || (turned && event.key.length > 1)) return; // they have these keys themselves
  const action = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action(event);
}

function bind() {
  byId("clock").append("", element("small"));
  byId("speed").append(...SPEEDS.map((s) => element("option", {value: `${s}`}, s >= 1 ? `${s}×` : `1/${+(1 / s).toPrecision(4)}×`)));
  byId("speed").addEventListener("change", (event) => setSpeed(+event.target.value));
  byId("play").addEventListener("click", () => play());
  byId("back").addEventListener("click", () => stepFrames(-1));
  byId("forward").addEventListener("click", () => stepFrames(1));
  byId("scrub").addEventListener("input", (event) => { play(false); go(app.run.t0 + (event.target.value / 1000) * (app.run.t1 - app.run.t0)); });
  for (const id of ["arrows", "cones"]) byId(id).addEventListener("change", () => { app.dirty = true; });
  document.querySelector(".timeline").addEventListener("keydown", () => play(false));
  byId("reset").addEventListener("click", reset);
  byId("share").addEventListener("click", share);
  byId("export").addEventListener("click", exportPage);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("pictures").addEventListener("click", openPicker);
  byId("values-box").addEventListener("toggle", () => { app.dirty = true; });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("system").addEventListener("change", (event) => goTo(event.target.value));
  window.addEventListener("hashchange", () => live() && app.first && chooseAddress());
  byId("compare").addEventListener("change", (event) => compare(event.target.checked));
  byId("curves").addEventListener("click", () => app.run && download(csv(app.run), "text/csv", `${fileName()}.csv`));
  byId("film").addEventListener("click", film);
  byId("theme").addEventListener("click", () => dress(!dark()));
  bindStage();
  bindPlot(plots.history, byId("history"));
  bindPlot(plots.phase, byId("phase"));
  bindRibbon(byId("ribbon"));
  document.addEventListener("keydown", onKey);
  const redraw = () => { if (app.run) sizeStage(app.run); theme.values.clear(); for (const plot of Object.values(plots)) plot.stale = true; app.dirty = true; };
  app.redraw = redraw;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => dress(event.matches));
  new ResizeObserver(redraw).observe(document.querySelector("main"));
}

const dark = () => document.documentElement.classList.contains("dark");

/** Light or dark, kept until the page is closed. */
function dress(on) {
  document.documentElement.classList.toggle("dark", on);
  app.redraw?.();
}

/** Whether anything was changed from what the system has by itself. */
function differs() {
  const {set, start, dt, t_end, stepper} = request();
  return Object.keys({...set, ...start}).length > 0 || dt !== null || t_end !== null || stepper !== null;
}

/** Name of an entry as words: "Brick on ramp". */
function spokenWords(name) {
  const words = name.replaceAll("_", " ");
  return /\.(nc|toml)$/.test(name) ? name : words[0].toUpperCase() + words.slice(1);
}

async function start() {
  document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
  bind();
  requestAnimationFrame(tick);
  const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches, inside = JSON.parse(byId("data").textContent);
  if (inside) await startFromDisk(inside);
  else await startLive();
  if (!quiet) play(true);
}

/** A page with a run inside; with kernels beside it the page simulates. */
async function startFromDisk({kernels: source, recorded, ...inside}) {
  document.body.classList.add("from-disk");
  document.body.classList.toggle("framed", window.self !== window.top);
  resetSettings(inside.system);
  const time = fromHash(location.hash);
  show(inside, {fresh: true, time});
  listParameters(byId("controls"), app.run);
  say(`A run of stickslip ${app.run.version}.`);
  if (!source) { tellRecorded(recorded); return; }
  try {
    const kernels = await loadKernels(source);
    const image = source.scene && await inflated(source.image);
    app.kernels = (wanted) => (image ? computedScene(kernels, source, inside, image, wanted) : computed(kernels, source, inside, wanted));
  } catch (error) { tellRecorded(`this browser runs no WebAssembly (${error.message})`); return; }
  document.body.classList.add("simulates");
  settings.stepper = settings.own = inside.method.stepper;
  app.description = source;
  app.showControls = buildControls(byId("controls"), source, [inside.method.stepper], () => simulate());
  if (source.fixed.length) byId("controls").append(element("p", {}, `No slider here: ${source.fixed.map(spoken).join(", ")}; ${source.scene ? "Python builds the scene anew for them" : "the drawing asks for their values"}.`));
  say(`This page simulates by itself, with the kernels of stickslip ${app.run.version}.`);
  const {set, start, dt, t_end} = request();
  if (Object.keys({...set, ...start}).length || dt !== null || t_end !== null) await simulate({time});
}

/** Why a page plays back one run, above the parameters of this run. */
function tellRecorded(reason) {
  byId("controls").prepend(element("p", {class: "recorded"}, element("b", {}, "A recorded run."), ` No sliders here: ${reason}. Install stickslip for them: `, element("code", {}, "stickslip view")));
}

async function startLive() {
  try {
    const catalogue = await (await ask("api/library")).json();
    app.first = catalogue.first;
    app.kinds = Object.fromEntries(catalogue.systems.map(({name, kind}) => [name, kind]));
    const groups = [["Model files", "model"], ["Saved runs", "saved"], ["Mechanisms", "library"], ["Scenes of bodies", "scene"]].map(([label, kind]) =>
      element("optgroup", {label}, ...catalogue.systems.filter((s) => s.kind === kind).map((s) => element("option", {value: s.name}, spokenWords(s.name)))));
    byId("system").append(...groups.filter((group) => group.children.length));
    await chooseAddress();
  } catch (error) { complain(error.message); }
}

app.plots = plots;
window.stickslip = app; // for tests and for the curious
start();
