// ---- picker: the library as pictures -------------------------------------------------------------------------------

/** Open the dialog; its pictures come with the first time. */
async function openPicker() {
  byId("picker").showModal();
  if (app.glances) { drawCards(); return; }
  try {
    app.glances = await (await ask("api/glances")).json();
    byId("cards").replaceChildren(...[["Mechanisms", "library"], ["Scenes of bodies", "scene"]].flatMap(([heading, kind]) => [
      element("h3", {}, heading), element("div", {class: "cards"}, ...app.glances.filter((entry) => app.kinds[entry.name] === kind).map(card))]));
    tell("picker-wait", "");
    drawCards();
  } catch (error) { tell("picker-wait", error.message); }
}

function card(entry) {
  const button = element("button", {type: "button", class: "card-choice", "data-name": entry.name}, element("canvas", {"aria-hidden": "true"}),
    element("b", {}, spokenWords(entry.name)), element("span", {}, entry.title), element("small", {}, `${entry.words} · ${entry.source}`));
  button.addEventListener("click", () => { byId("picker").close(); goTo(entry.name); });
  return button;
}

/** Draw one picture after the other, so that the dialog answers meanwhile; a closed one has no size to draw in. */
function drawCards() {
  const button = byId("picker").open && byId("cards").querySelector(".card-choice:not(.drawn)");
  if (!button) return;
  button.classList.add("drawn");
  const entry = app.glances.find(({name}) => name === button.dataset.name), canvas = button.querySelector("canvas");
  if (entry.motion) {
    const run = {motion: shareSolids(unpacked(entry.motion)), contacts: [], impactsOf: [], t0: 0, t1: 1};
    const stage = run.motion.kind === "plane" ? new PlaneStage(canvas) : new ProjectedStage(canvas);
    stage.draw(run, 0, {speed: 1, bare: true});
  } else canvas.classList.add("empty");
  setTimeout(drawCards);
}
