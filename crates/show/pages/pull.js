// Springs by which this page pulls atoms of a run under way: the atom under the pointer is grabbed, and the spring ends
// at the pointer, in the plane through the atom that faces the viewer.
"use strict";

// Atoms can be grabbed so many pixels from their middle, however small they are.
const GRASP = 10;
// Softest spring of the slider, as a part of the moderate one.
const SOFTEST = 0.01;

// The point of the box whose place in the scene this is, see `turned`.
const back = (v) => [v[2], v[0], v[1]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const minus = (a, b) => a.map((x, d) => x - b[d]);

class Pulling {
  // `live`: units and stiffness as the program sends them; `post` sends a request and says why it is refused.
  constructor(scene, live, post) {
    [this.scene, this.live, this.post] = [scene, live, post];
    this.page = crypto.getRandomValues(new Uint32Array(1))[0];
    [this.on, this.grip, this.grips, this.todo, this.springs] = [false, null, 0, [], []];
    this.element = (id) => document.getElementById(id);
    const { element } = this;
    element("pulling").hidden = !live.pulls;
    if (!live.pulls) return;
    const place = scene.canvas.parentElement;
    this.paper = document.createElement("canvas");
    this.paper.id = "springs";
    this.hint = document.createElement("p");
    this.hint.id = "hint";
    place.append(this.paper, this.hint);
    scene.overlay = () => this.draw();
    element("stiffness-unit").textContent = live.units.stiffness;
    element("force-unit").textContent = live.units.force;
    for (const unit of document.querySelectorAll(".energy-unit")) unit.textContent = live.units.energy;
    this.setStiffness(live.stiffness);
    element("soft").addEventListener("input", (e) => {
      const low = SOFTEST * live.stiffness;
      this.setStiffness(low * (live.most / low) ** Number(e.target.value));
      this.drag();
    });
    element("stiffness").addEventListener("change", (e) => {
      this.setStiffness(Number(e.target.value));
      this.drag();
    });
    element("scope").addEventListener("change", (e) => (element("selection").hidden = e.target.value !== "selection"));
    element("pull").addEventListener("click", () => this.toggle());
    for (const name of ["down", "move", "up", "cancel"]) place.addEventListener(`pointer${name}`, (e) => this[name](e), true);
    document.addEventListener("keydown", (e) => {
      if (e.target.matches("input:not([type=range]):not([type=checkbox])") || e.ctrlKey || e.metaKey) return;
      if (e.key === "p" || e.key === "P") this.toggle();
      if (e.key === "Escape") this.cancel();
    });
    addEventListener("pagehide", () => {
      const request = JSON.stringify({ leave: { page: this.page } });
      navigator.sendBeacon(`/pull?token=${content.token}`, request);
    });
    this.say();
  }

  toggle() {
    this.on = !this.on;
    if (!this.on) this.cancel();
    this.element("pull").ariaPressed = String(this.on);
    this.scene.canvas.parentElement.classList.toggle("grab", this.on);
    this.say();
  }

  say() {
    this.hint.textContent = !this.on ? "Press P to pull atoms"
      : this.grip ? "" : "Drag an atom to pull it, with Shift its molecule; drag the background to turn";
  }

  setStiffness(stiffness) {
    const low = SOFTEST * this.live.stiffness;
    this.stiffness = Number(stiffness.toPrecision(3));
    this.element("stiffness").value = this.stiffness;
    this.element("soft").value = Math.log(this.stiffness / low) / Math.log(this.live.most / low);
  }

  // The eye, and the direction from it through a pointer.
  ray(event) {
    const { camera, canvas } = this.scene;
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const [x, y] = [(2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height];
    const eye = [...camera.position];
    const point = new ogl.Vec3(x, y, 0.5);
    camera.unproject(point);
    const along = minus([...point], eye);
    const length = Math.hypot(...along);
    return { eye, along: along.map((part) => part / length) };
  }

  // The atom that is seen under a pointer; -1 where there is none.
  pick(event) {
    const { scene } = this;
    const { eye, along } = this.ray(event);
    const { low, high, sizes, radius } = scene.uniforms;
    const kinds = scene.atoms.attributes.kind.data;
    const pixel = (2 * Math.tan((scene.camera.fov * Math.PI) / 360)) / scene.canvas.clientHeight;
    let [found, nearest] = [-1, Infinity];
    for (let k = 0; k < kinds.length; k++) {
      const part = [0, 1, 2].map((d) => scene.places[3 * k + d] / 65535);
      if (kinds[k] === HIDDEN || part.some((s, d) => s < low.value[d] || s > high.value[d])) continue;
      const to = minus(scene.point(part), eye);
      const away = dot(to, along);
      const size = Math.max(radius.value * sizes.value[kinds[k] % MOST_COLOURS], GRASP * pixel * away);
      const inside = size * size - dot(to, to) + away * away;
      if (away > 0 && inside > 0 && away - Math.sqrt(inside) < nearest) [found, nearest] = [k, away - Math.sqrt(inside)];
    }
    return found;
  }

  // The point under a pointer in the plane of the grip.
  under(event) {
    const { eye, along } = this.ray(event);
    const { at, normal } = this.grip;
    const reach = dot(minus(at, eye), normal) / dot(along, normal);
    return eye.map((x, d) => x + reach * along[d]);
  }

  down(event) {
    if (!this.on || event.button !== 0 || event.target !== this.scene.canvas) return;
    const atom = this.pick(event);
    if (atom < 0) return;
    event.preventDefault();
    this.scene.orbit.enabled = false;
    event.target.setPointerCapture(event.pointerId);
    const { camera, orbit } = this.scene;
    this.grip = { atom, at: this.scene.point(this.scene.part(atom)), normal: minus([...orbit.target], [...camera.position]) };
    this.grip.end = this.under(event);
    this.grips += 1;
    const scope = event.shiftKey ? "molecule" : this.element("scope").value;
    const of = scope === "selection" ? { selection: this.element("selection").value } : scope;
    this.send({ grab: { page: this.page, atom, of, ...this.hold() } });
    this.say();
  }

  move(event) {
    if (!this.grip) return;
    this.grip.end = this.under(event);
    this.drag();
  }

  up() {
    this.cancel();
  }

  cancel() {
    if (!this.grip) return;
    this.grip = null;
    this.scene.orbit.enabled = true;
    this.send({ release: { page: this.page } });
    this.scene.stale = true;
    this.say();
  }

  hold() {
    return { stiffness: this.stiffness, end: back(this.grip.end) };
  }

  drag() {
    if (!this.grip) return;
    this.send({ drag: { page: this.page, ...this.hold() } });
    this.scene.stale = true;
  }

  // Requests go one after the other; of several drags that wait the last counts.
  async send(request) {
    if (request.drag && this.todo.at(-1)?.drag) this.todo.pop();
    this.todo.push(request);
    if (this.busy) return;
    this.busy = true;
    while (this.todo.length) {
      const next = this.todo.shift();
      const refused = await this.post(next);
      // The reason of a refusal stays when the page has let go.
      if (!next.release) this.element("refused").textContent = refused;
      if (refused) this.todo = this.todo.filter((waiting) => waiting.release);
      if (refused && this.grip) this.cancel();
    }
    this.busy = false;
  }

  // Takes note of springs and work as the program sends them.
  take(report) {
    if (!this.live.pulls) return;
    this.springs = report.springs;
    const mine = report.springs.find((spring) => spring.page === this.page);
    const write = (id, x) => (this.element(id).textContent = short(Number(x.toPrecision(4))));
    write("force", mine ? Math.hypot(...mine.force) : 0);
    write("work", mine?.work ?? 0);
    write("all-work", report.work);
    this.element("force").classList.toggle("limited", mine?.limited ?? false);
    this.element("force").title = mine?.limited ? "the greatest force that these atoms can follow" : "";
    this.report = report;
  }

  // Draws all springs over the atoms.
  draw() {
    const { paper, scene } = this;
    const { clientWidth: width, clientHeight: height } = scene.canvas.parentElement;
    const sharp = window.devicePixelRatio;
    if (paper.width !== Math.round(width * sharp) || paper.height !== Math.round(height * sharp)) {
      [paper.width, paper.height] = [Math.round(width * sharp), Math.round(height * sharp)];
    }
    const pen = paper.getContext("2d");
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    const others = this.springs.filter((spring) => spring.page !== this.page && Math.hypot(...spring.force) > 0);
    for (const spring of others) this.drawSpring(pen, spring.atom, turned(spring.end), tone("quiet"));
    if (!this.grip) return;
    const mine = this.springs.find((spring) => spring.page === this.page);
    const at = this.drawSpring(pen, this.grip.atom, this.grip.end, tone(mine?.limited ? "bad" : "accent"));
    const force = mine ? Math.hypot(...mine.force) : 0;
    const words = `${short(Number(force.toPrecision(3)))} ${this.live.units.force}`.trim();
    pen.font = "600 13px system-ui, sans-serif";
    pen.lineJoin = "round";
    [pen.lineWidth, pen.strokeStyle, pen.fillStyle] = [4, tone("paper"), tone("ink")];
    const x = Math.min(at[0] + 12, width - pen.measureText(words).width - 8);
    pen.strokeText(words, x, at[1] - 10);
    pen.fillText(words, x, at[1] - 10);
  }

  // Draws a spring from an atom to the nearest image of a point, and returns where it ends on the screen.
  drawSpring(pen, atom, end, colour) {
    const { scene } = this;
    const begin = scene.point(scene.part(atom));
    const along = scene.nearest(minus(end, begin));
    const [from, to] = [scene.onScreen(begin), scene.onScreen(begin.map((x, d) => x + along[d]))];
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const side = length > 0 ? [(from[1] - to[1]) / length, (to[0] - from[0]) / length] : [0, 0];
    pen.lineJoin = pen.lineCap = "round";
    const strokes = [[tone("paper"), 5.5], [colour, 2.5]];
    for (const [style, width] of strokes) {
      [pen.strokeStyle, pen.fillStyle, pen.lineWidth] = [style, style, width];
      pen.beginPath();
      pen.moveTo(...from);
      const turns = 10;
      for (let k = 0; k < 2 * turns && length > 30; k++) {
        const part = 0.15 + (0.7 * (k + 0.5)) / (2 * turns);
        const out = k % 2 ? 6 : -6;
        pen.lineTo(...[0, 1].map((d) => from[d] + part * (to[d] - from[d]) + out * side[d]));
      }
      pen.lineTo(...to);
      pen.stroke();
      pen.beginPath();
      pen.arc(...to, width + 1, 0, 2 * Math.PI);
      pen.fill();
      pen.beginPath();
      pen.arc(...from, 10, 0, 2 * Math.PI);
      pen.stroke();
    }
    return to;
  }
}
