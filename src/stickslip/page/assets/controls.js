// ---- controls: sliders, the settings they make, links and commands -----------------------------------------------

const SECTIONS = [
  ["Contact laws", true, (c) => c.section === "parameter" && c.law],
  ["Run", true, (c) => c.section === "run"],
  ["Mechanism", true, (c) => c.section === "parameter" && !c.law],
  ["Start", false, (c) => c.section === "start"],
];

/** What a tab asks for; only what differs from the system's own values. */
const settings = {system: "", set: {}, start: {}, dt: null, t_end: null, stepper: null, own: null, touched: null};

function resetSettings(system) {
  return Object.assign(settings, {system, set: {}, start: {}, dt: null, t_end: null, stepper: null, own: null, touched: null});
}

function request() {
  const {system, set, start, dt, t_end, stepper, own} = settings;
  return {system, set, start, dt, t_end, stepper: stepper === own ? null : stepper};
}

function valueOf(control) {
  if (control.section === "run") return settings[control.key] ?? control.value;
  if (control.section === "start") return settings.start[control.key] ?? control.value;
  const value = settings.set[control.key];
  return control.index < 0 ? value ?? control.value : value?.[control.index] ?? control.value;
}

function assign(control, value, controls) {
  const own = value === control.value;
  if (control.section === "run") settings[control.key] = own ? null : value;
  else if (control.section === "start") own ? delete settings.start[control.key] : (settings.start[control.key] = value);
  else if (control.index < 0) own ? delete settings.set[control.key] : (settings.set[control.key] = value);
  else {
    const parts = controls.filter((c) => c.key === control.key && c.section === control.section);
    const all = parts.map((c) => (c === control ? value : valueOf(c)));
    if (all.every((x, i) => x === parts[i].value)) delete settings.set[control.key];
    else settings.set[control.key] = all;
  }
}

/** Slider positions run from 0 to 1000, by factors where the range does. */
function toSlider(control, value) {
  const {low, high, log} = control;
  const part = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(1000 * Math.min(1, Math.max(0, part)));
}

function fromSlider(control, position) {
  const {low, high, log, whole} = control, part = position / 1000;
  const raw = log ? low * (high / low) ** part : low + part * (high - low);
  if (Math.abs(position - toSlider(control, control.value)) < 0.5) return control.value; // its own value can be found again
  return whole ? Math.round(raw) : +raw.toPrecision(4);
}

function controlRow(control, controls, changed) {
  const id = `c-${control.section}-${control.key}-${control.index}`;
  const slider = element("input", {type: "range", id, min: "0", max: "1000", step: "1", "aria-label": spoken(control.name)});
  const field = element("input", {type: "number", step: "any", "aria-label": `${spoken(control.name)}, exact value`});
  const words = [control.meaning, `${figure(control.low, 3)} to ${figure(control.high, 3)} ${unitText(control.unit)}`.trim(), `its own value: ${figure(control.value)}`];
  const label = element("label", {for: id, title: words.filter(Boolean).join("\n")}, ...symbolNodes(control.name));
  if (control.unit) label.append(element("span", {class: "unit"}, ` [${unitText(control.unit)}]`));
  const own = element("button", {type: "button", class: "own", title: `Back to ${figure(control.value)}`, "aria-label": `${spoken(control.name)} back to its own value`}, "↺");
  label.append(own);
  const ends = element("div", {class: "ends", "aria-hidden": "true"}, element("span", {}, figure(control.low, 3)), element("span", {}, figure(control.high, 3)));
  const row = element("div", {class: "control"}, label, field, slider, ends);
  const show = () => {
    const value = valueOf(control);
    slider.value = toSlider(control, value);
    slider.setAttribute("aria-valuetext", `${figure(value)} ${unitText(control.unit)}`);
    if (document.activeElement !== field) field.value = +value.toPrecision(7);
    row.classList.toggle("changed", value !== control.value);
  };
  slider.addEventListener("input", () => { assign(control, fromSlider(control, +slider.value), controls); show(); changed(); });
  field.addEventListener("change", () => {
    if (field.value !== "" && Number.isFinite(+field.value)) assign(control, +field.value, controls);
    show();
    changed();
  });
  own.addEventListener("click", (event) => { event.preventDefault(); assign(control, control.value, controls); show(); changed(); });
  for (const part of [slider, field, own]) part.addEventListener(part === slider ? "input" : part === field ? "change" : "click", () => { settings.touched = row; }, true);
  row.dataset.key = control.key;
  show();
  return {row, show};
}

/** Fill the form with the sliders of a system; returns a function that shows the settings again. */
function buildControls(form, description, steppers, changed) {
  const {controls} = description, rows = [];
  form.replaceChildren();
  if (!controls.length) form.append(element("p", {}, "A saved run: what was computed is shown as it is."));
  if (controls.length > MANY) form.append(finder(form));
  const phone = matchMedia("(max-width: 760px)").matches;
  for (const [title, open, belongs] of SECTIONS) {
    const own = controls.filter(belongs);
    if (!own.length) continue;
    const box = element("details", {open: open && !(phone && own.length > 8)}, element("summary", {}, title));
    if (title === "Run") box.append(stepperRow(steppers, rows, changed));
    for (const control of own) {
      const {row, show} = controlRow(control, controls, changed);
      rows.push(show);
      box.append(row);
    }
    form.append(box);
  }
  return () => rows.forEach((show) => show());
}

const MANY = 12;

/** A field that leaves the sliders whose names or meanings hold what is typed. */
function finder(form) {
  const field = element("input", {type: "search", id: "find", placeholder: "Find a parameter", "aria-label": "Find a parameter"});
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const box of form.querySelectorAll("details")) {
      let some = false;
      for (const row of box.querySelectorAll(".control")) {
        const fits = `${row.dataset.key} ${row.querySelector("label").title}`.toLowerCase().includes(wanted);
        row.hidden = !fits;
        some ||= fits;
      }
      box.hidden = !some;
      if (wanted && some) box.open = true;
    }
  });
  return field;
}

function stepperRow(steppers, rows, changed) {
  const select = element("select", {id: "stepper"}, ...steppers.map((name) => element("option", {value: name}, name)));
  const show = () => { select.value = settings.stepper; };
  select.addEventListener("change", () => { settings.stepper = select.value; changed(); });
  rows.push(show);
  show();
  return element("div", {class: "choice"}, element("label", {for: "stepper"}, "Stepper"), select);
}

/** Parameters of a run that came with the page. */
function listParameters(form, run) {
  const rows = Object.entries(run.parameters).map(([name, value]) =>
    element("tr", {}, element("th", {scope: "row"}, ...symbolNodes(name)), element("td", {}, `${figure(value, 5)} ${unitText(run.units?.[name] ?? "")}`)));
  form.replaceChildren(element("table", {}, element("tbody", {}, ...rows)));
}

// ---- links -------------------------------------------------------------------------------------------------------

/** Settings as the part of a link behind #. */
function toHash(time) {
  const pairs = [["system", settings.system]];
  for (const [key, value] of Object.entries(settings.set)) pairs.push([key, Array.isArray(value) ? value.join(",") : value]);
  for (const [key, value] of Object.entries(settings.start)) pairs.push([`start.${key}`, value]);
  for (const key of ["dt", "t_end"]) if (settings[key] !== null) pairs.push([key, settings[key]]);
  if (settings.stepper !== settings.own) pairs.push(["stepper", settings.stepper]);
  if (time !== undefined) pairs.push(["t", +time.toPrecision(6)]);
  return "#" + pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&");
}

/** Take the settings from a link; returns the instant it names, if it does. */
function fromHash(hash) {
  let time;
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const numbers = text.split(",").map(Number), value = numbers.length > 1 ? numbers : numbers[0];
    if (key === "system") continue;
    if (key === "stepper") settings.stepper = text;
    else if (numbers.some((x) => !Number.isFinite(x))) continue;
    else if (key === "t") time = value;
    else if (key === "dt" || key === "t_end") settings[key] = value;
    else if (key.startsWith("start.")) settings.start[key.slice(6)] = value;
    else settings.set[key] = value;
  }
  return time;
}

/** The same run in a terminal. */
function command() {
  const parts = ["stickslip run", settings.system];
  for (const [key, value] of Object.entries({...settings.set, ...settings.start}))
    parts.push(`--set ${key}=${Array.isArray(value) ? value.join(",") : value}`);
  if (settings.dt !== null) parts.push(`--dt ${settings.dt}`);
  if (settings.t_end !== null) parts.push(`--t-end ${settings.t_end}`);
  if (settings.stepper !== settings.own) parts.push(`--stepper ${settings.stepper}`);
  return parts.join(" ");
}
