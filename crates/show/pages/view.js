// A trajectory that may still be growing: frames are fetched when they are wanted, a few ahead.
"use strict";

const content = JSON.parse(document.getElementById("content").textContent);
const element = (id) => document.getElementById(id);
const scene = new Scene(element("atoms"), content);
const atoms = scene.kinds.length;
const ask = (path, more = "") => fetch(`${path}?token=${content.token}${more}`).then((answer) => {
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
});

// Frames at hand, the latest used last.
const kept = new Map();
const MOST_BYTES = 256e6;
let [frames, wanted, shown, playing] = [0, 0, -1, false];
// The time of the frame that is shown, as the axes of the plots have it.
let [clock, moment] = [{ unit: "", divisor: 1 }, NaN];
const charts = new Map();

function fetched(path) {
  let promise = kept.get(path);
  kept.delete(path);
  promise ??= ask(path).then((a) => a.arrayBuffer()).catch((e) => { kept.delete(path); throw e; });
  kept.set(path, promise);
  const most = Math.max(8, Math.floor(MOST_BYTES / (7 * atoms)));
  while (kept.size > Math.min(most, 2000)) kept.delete(kept.keys().next().value);
  return promise;
}
const frame = (k) => fetched(`/frame/${k}`);

// What atoms are coloured by, in a frame; null for their species.
async function values(k, speeds) {
  const by = element("colour").value;
  if (by === "order") return new Uint8Array(await fetched(`/order/${k}`));
  return by === "speed" ? speeds : null;
}

async function show(k) {
  wanted = k;
  const now = decode(await frame(k));
  const colours = await values(k, now.speeds);
  // Somebody has moved on meanwhile.
  if (wanted !== k) return;
  scene.show(now.box, now.places, now.periodic);
  scene.colour(element("colour").value, colours);
  shown = k;
  element("frame").value = k;
  moment = now.time / clock.divisor;
  const time = Number.isFinite(moment) ? `, t = ${Number(moment.toPrecision(6))} ${clock.unit}`.trimEnd() : "";
  element("time").textContent = `frame ${k + 1} of ${frames}, step ${now.step}${time}`;
  for (const chart of charts.values()) chart.mark(moment);
  if (!now.speeds) element("colour").querySelector("[value=speed]").disabled = true;
  for (const next of [k + 1, k + 2, k + 3]) if (next < frames) frame(next).catch(() => {});
}

// Shows the latest positions of a run that the program makes, over and over, and keeps the springs of this page.
async function watch() {
  let [last, coloured] = ["", ""];
  for (;;) {
    const by = element("colour").value;
    // Other colours change the frame that is shown, of a run that is paused, too.
    const after = by === coloured ? last : "";
    const answer = await ask(`/live`, `&page=${pulling.page}&after=${after}&colour=${by}`).catch((error) => {
      if (by !== "order") throw error;
    });
    if (!answer) {
      // Order has no meaning in such a box, or the run is over, which the next request tells.
      element("colour").querySelector("[value=order]").disabled = true;
      element("colour").value = "species";
      showScale("species");
      continue;
    }
    const buffer = await answer.arrayBuffer();
    // No more than a screen can show, and no more requests than that where nothing is new.
    await new Promise((go) => requestAnimationFrame(go));
    if (answer.status === 204) continue;
    const now = decode(buffer);
    last = now.step;
    const ordered = by === "order" ? atoms : 0;
    pulling.take(JSON.parse(new TextDecoder().decode(now.rest.slice(ordered))));
    if (!element("follow").checked || playing) continue;
    scene.show(now.box, now.places, now.periodic);
    scene.colour(by, { speed: now.speeds, order: new Uint8Array(now.rest, 0, ordered) }[by] ?? null);
    coloured = by;
    moment = now.time / clock.divisor;
    const time = `, t = ${Number(moment.toPrecision(6))} ${clock.unit}`.trimEnd();
    element("time").textContent = `step ${now.step}${time}`;
    shown = wanted = -1;
  }
}

async function play() {
  while (playing) {
    const begun = performance.now();
    await show(shown + 1 < frames ? shown + 1 : 0);
    await new Promise((go) => setTimeout(go, Math.max(0, 40 - (performance.now() - begun))));
  }
}

function toggle() {
  playing = !playing;
  element("play").innerHTML = playing ? PAUSE_ICON : PLAY_ICON;
  element("play").ariaLabel = playing ? "stop" : "play";
  if (playing) play();
}

function plots(figures) {
  const chosen = figures.filter((f) => ["temperature", "energy", "drift", "pressure"].includes(f.name));
  for (const figure of chosen) {
    const chart = charts.get(figure.name);
    if (chart) {
      chart.update(figure);
      continue;
    }
    const place = document.createElement("figure");
    element("plots").append(place);
    charts.set(figure.name, figureCard(place, figure));
    charts.get(figure.name).mark(moment);
  }
}

async function poll() {
  try {
    const state = await (await ask("/state")).json();
    const grown = state.frames !== frames;
    frames = state.frames;
    clock = state.clock;
    element("frame").max = Math.max(0, frames - 1);
    element("reading").textContent = state.error ?? (state.reading && !alive(state) ? "reading" : "");
    controls(state);
    plots(state.figures);
    element("frame").disabled = element("play").disabled = frames === 0;
    // The latest positions of a run of this program are shown by `watch`.
    const latest = content.live && element("follow").checked;
    if (frames > 0 && shown < 0 && !latest) await show(0);
    else if (grown && element("follow").checked && !playing && alive(state) && !latest) await show(frames - 1);
    else if (grown && shown >= 0) await show(shown);
    setTimeout(poll, state.reading || alive(state) ? 1000 : 10000);
  } catch (error) {
    over();
  }
}

function over() {
  element("reading").textContent = content.live ? "the run is over; jostle view shows it" : "the viewer has ended";
  element("control").hidden = true;
  if (content.live) element("pulling").hidden = true;
}

// A run under way can be told what to do.
const alive = (state) => ["running", "paused"].includes(state.status);
function controls(state) {
  element("control").hidden = !state.status;
  element("status").textContent = `run ${state.status}`;
  element("status").dataset.status = state.status;
  for (const name of ["pause", "stop"]) element(name).hidden = !alive(state);
  element("pause").textContent = state.status === "paused" ? "go on" : "pause the run";
  element("pause").dataset.order = state.status === "paused" ? "go-on" : "pause";
  const held = state.target_temperature;
  element("thermostat").hidden = !alive(state) || held == null;
  element("unit").textContent = state.temperature_unit ?? "";
  const field = element("temperature");
  // What somebody is writing is left alone.
  if (held != null && document.activeElement !== field && field.dataset.held !== String(held)) {
    field.value = Number(held.toPrecision(9));
    field.dataset.held = held;
  }
}

async function tell(order) {
  element("answer").textContent = "";
  try {
    const answer = await fetch(`/control?token=${content.token}`, { method: "POST", body: JSON.stringify(order) });
    // Read to its end also where it says nothing: a browser takes it for broken off else.
    const said = await answer.text();
    if (!answer.ok) element("answer").textContent = said;
    controls(await (await ask("/state")).json());
  } catch (error) {
    element("answer").textContent = "the viewer has ended";
  }
}
element("pause").addEventListener("click", (e) => tell(e.target.dataset.order));
element("stop").addEventListener("click", () => { if (confirm("Write a checkpoint and end the run? jostle resume goes on.")) tell("stop"); });
element("control").addEventListener("submit", (e) => {
  e.preventDefault();
  element("temperature").blur();
  tell({ temperature: Number(element("temperature").value) });
});

element("play").addEventListener("click", toggle);
element("frame").addEventListener("input", (e) => { element("follow").checked = false; show(Number(e.target.value)); });
sceneControls(scene, () => shown >= 0 && show(shown));
document.addEventListener("keydown", (e) => {
  if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName) && e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (e.key === " ") { e.preventDefault(); toggle(); }
  else if (step && e.target.id !== "frame" && shown + step >= 0 && shown + step < frames) show(shown + step);
});
element("play").innerHTML = PLAY_ICON;
let pulling = null;
if (content.live) {
  pulling = new Pulling(scene, content.live, async (request) => {
    try {
      const answer = await fetch(`/pull?token=${content.token}`, { method: "POST", body: JSON.stringify(request) });
      const said = await answer.text();
      return answer.ok ? "" : said;
    } catch (error) {
      return "the run is over";
    }
  });
  watch().catch(over);
}
poll();
