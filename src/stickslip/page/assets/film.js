// ---- film: curves as a table, the motion as a GIF, both made in the browser ---------------------------------------

const FILM = {rate: 20, most: 240, width: 640, seconds: 8}; // frames a second, frames, pixels, seconds of the viewer's time

/** Name of a file that is handed over, without its end: that of the system, or of the model file or run it came from. */
function fileName() { return (settings.system || "run").replace(/\.(nc|toml)$/, ""); }

function download(content, type, name) {
  const blob = content instanceof Blob ? content : new Blob([content], {type}), link = element("a", {download: name});
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** All curves of a run as a table with a head: name and unit. */
function csv(run) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const label = (c) => `${["coordinate", "velocity"].includes(c.group) ? "" : `${c.group} `}${c.name}${c.unit ? ` [${c.unit}]` : ""}`;
  const rows = [["t [s]", ...run.curves.map(label)].map(quoted).join(",")];
  for (let i = 0; i < run.history.t.length; i++) rows.push([run.history.t[i], ...run.curves.map((c) => c.values[i])].map((x) => (x === x ? x : "")).join(","));
  return rows.join("\n") + "\n";
}

/** Draw the motion from now on, frame by frame, and hand it over as a film. */
async function film() {
  if (!app.run || app.filming) return;
  app.filming = true;
  const {run, playing, t: now} = app, stage = byId("stage"), span = Math.min(run.t1 - run.t0, FILM.seconds * app.speed);
  const from = Math.min(now, run.t1 - span), count = Math.max(2, Math.min(FILM.most, Math.round((span / app.speed) * FILM.rate)));
  const width = Math.min(FILM.width, stage.clientWidth), height = Math.round((width * stage.clientHeight) / stage.clientWidth);
  const small = Object.assign(document.createElement("canvas"), {width, height}), context = small.getContext("2d", {willReadFrequently: true}), frames = [];
  play(false);
  try {
    for (let k = 0; k < count; k++) {
      go(from + (span * k) / (count - 1));
      paint();
      context.fillStyle = theme.get("stage");
      context.fillRect(0, 0, width, height);
      context.drawImage(stage, 0, 0, width, height);
      if (!byId("over").hidden) context.drawImage(byId("over"), 0, 0, width, height);
      frames.push(context.getImageData(0, 0, width, height).data);
      if (k % 10 === 9) { say(`Filming: ${k + 1} of ${count} frames.`); await new Promise((done) => setTimeout(done)); }
    }
    const bytes = gif(frames, width, height, Math.round(100 / FILM.rate));
    download(bytes, "image/gif", `${fileName()}.gif`);
    say(`A film of ${count} frames, ${Math.round(bytes.length / 1000)} kB.`);
    app.film = bytes;
  } finally { app.filming = false; go(now); play(playing); }
}

/** Frames of RGBA as an endless GIF; delay in hundredths of a second. */
function gif(frames, width, height, delay) {
  const colours = palette(frames), out = [..."GIF89a"].map((c) => c.charCodeAt(0)), word = (x) => out.push(x & 255, x >> 8);
  word(width); word(height);
  out.push(0xf7, 0, 0);
  for (let k = 0; k < 256; k++) out.push(...(colours.list[k] ?? [0, 0, 0]));
  out.push(0x21, 0xff, 11, ...[..."NETSCAPE2.0"].map((c) => c.charCodeAt(0)), 3, 1, 0, 0, 0);
  for (const frame of frames) {
    out.push(0x21, 0xf9, 4, 4); word(delay); out.push(0, 0, 0x2c);
    word(0); word(0); word(width); word(height);
    out.push(0, 8);
    const packed = lzw(indexed(frame, colours));
    for (let i = 0; i < packed.length; i += 255) { const part = packed.slice(i, i + 255); out.push(part.length); for (const byte of part) out.push(byte); }
    out.push(0);
  }
  out.push(0x3b);
  return Uint8Array.from(out);
}

const coarse = (r, g, b) => ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);

/** The 256 commonest colours of some frames, five bits a channel. */
function palette(frames) {
  const counts = new Map(), sums = new Map(), every = Math.max(1, Math.floor(frames.length / 8));
  for (let f = 0; f < frames.length; f += every) {
    const data = frames[f];
    for (let i = 0; i < data.length; i += 4) {
      const key = coarse(data[i], data[i + 1], data[i + 2]);
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (!sums.has(key)) sums.set(key, [data[i], data[i + 1], data[i + 2]]);
    }
  }
  const keys = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, 256);
  return {list: keys.map((key) => sums.get(key)), index: new Map(keys.map((key, k) => [key, k]))};
}

/** Numbers of the palette, the nearest colour where one is not in it. */
function indexed(data, {list, index}) {
  const found = new Uint8Array(data.length / 4);
  for (let i = 0; i < found.length; i++) {
    const [r, g, b] = [data[4 * i], data[4 * i + 1], data[4 * i + 2]], key = coarse(r, g, b);
    let k = index.get(key);
    if (k === undefined) {
      let least = Infinity;
      list.forEach(([x, y, z], n) => { const d = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2; if (d < least) { least = d; k = n; } });
      index.set(key, k);
    }
    found[i] = k;
  }
  return found;
}

/** Lempel-Ziv-Welch codes of 9 to 12 bits for bytes, as GIF packs them. */
function lzw(bytes) {
  const CLEAR = 256, END = 257, out = [];
  let table = new Map(), next = 258, size = 9, buffer = 0, filled = 0;
  const emit = (code) => {
    buffer |= code << filled;
    filled += size;
    while (filled >= 8) { out.push(buffer & 255); buffer >>>= 8; filled -= 8; }
  };
  emit(CLEAR);
  let prefix = bytes[0];
  for (let i = 1; i < bytes.length; i++) {
    const key = (prefix << 8) | bytes[i], code = table.get(key);
    if (code !== undefined) { prefix = code; continue; }
    emit(prefix);
    if (next === 4096) { emit(CLEAR); table = new Map(); next = 258; size = 9; }
    else { table.set(key, next++); if (next > 1 << size && size < 12) size++; }
    prefix = bytes[i];
  }
  emit(prefix);
  emit(END);
  if (filled) out.push(buffer & 255);
  return out;
}
