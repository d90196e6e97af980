// Atoms in a box: spheres drawn as discs that the graphics card shades, so that 100,000 move
// smoothly. What is drawn comes as places in the box, 16 bits an axis.
"use strict";

// Colours beyond these begin anew.
const MOST_COLOURS = 32;
// What is not shown has this kind.
const HIDDEN = 255;

// The colour of a value between 0 and 1: viridis (S. van der Walt and N. Smith, 2015), as a polynomial
// that is within 2% of it.
const VIRIDIS = [
  [0.2777273, 0.0054073, 0.3340998], [0.105093, 1.4046135, 1.3845902], [-0.3308618, 0.2148476, 0.0950952],
  [-4.6342305, -5.799101, -19.332441], [6.2282699, 14.1799334, 56.6905526], [4.776385, -13.7451454, -65.3530326],
  [-5.4354559, 4.6458526, 26.3124352],
];
const warm = (t) => {
  const parts = [0, 1, 2].map((d) => VIRIDIS.reduceRight((sum, row) => sum * t + row[d], 0));
  return `rgb(${parts.map((p) => Math.round(255 * Math.min(1, Math.max(0, p)))).join(" ")})`;
};
const vector = (row) => `vec3(${row.map((x) => x.toFixed(7)).join(", ")})`;

// Colours of atoms and of bonds: by species, by a value, or by the molecule, whose number is a hue.
const COLOUR = `
    uniform vec3 palette[${MOST_COLOURS}];
    uniform float mode;
    vec3 colourOf(float kind, float value, float hue) {
      vec3 warm = ${VIRIDIS.reduceRight((sum, row) => (sum ? `(${sum}) * value + ${vector(row)}` : vector(row)), "")};
      vec3 wheel = 0.54 + 0.36 * cos(6.28318 * (hue + vec3(0.0, 0.33, 0.67)));
      return mode < 0.5 ? palette[int(kind) % ${MOST_COLOURS}] : mode < 1.5 ? clamp(warm, 0.0, 1.0) : wheel;
    }`;
// Light from above on the left, a darker edge, and haze in the distance.
const LIGHT = `
    uniform vec3 ground;
    uniform vec2 haze;
    vec3 lit(vec3 colour, vec3 normal, vec3 ray, float away) {
      vec3 towards = normalize(vec3(-0.4, 0.65, 0.75));
      float light = 0.5 + 0.17 * normal.y + 0.5 * max(dot(normal, towards), 0.0);
      float shine = pow(max(dot(reflect(ray, normal), towards), 0.0), 40.0);
      float edge = smoothstep(0.0, 0.55, -dot(normal, ray));
      vec3 seen = (colour * light + 0.22 * shine) * mix(0.55, 1.0, edge);
      return mix(seen, ground, 0.45 * clamp((away - haze.x) / (haze.y - haze.x), 0.0, 1.0));
    }`;

// The z axis of the box points up.
const turned = (v) => [v[1], v[2], v[0]];

const SPHERES = {
  vertex: `#version 300 es
    in vec2 corner; in vec3 place; in float kind; in float value; in float hue;
    uniform mat4 viewMatrix, projectionMatrix;
    uniform vec3 origin, a, b, c, low, high;
    uniform float radius;
    uniform float sizes[${MOST_COLOURS}];
    out vec2 at; out vec3 centre; out vec3 colour; out float size;
    ${COLOUR}
    void main() {
      at = corner;
      bool shown = all(greaterThanEqual(place, low)) && all(lessThanEqual(place, high)) && kind < ${HIDDEN}.0;
      centre = (viewMatrix * vec4(origin + place.x * a + place.y * b + place.z * c, 1.0)).xyz;
      size = radius * sizes[int(kind) % ${MOST_COLOURS}];
      colour = colourOf(kind, value, hue);
      // A disc seen from nearby covers a little more than its radius.
      gl_Position = shown ? projectionMatrix * vec4(centre + vec3(1.15 * size * corner, 0.0), 1.0)
                          : vec4(2.0, 2.0, 2.0, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    uniform mat4 projectionMatrix;
    in vec2 at; in vec3 centre; in vec3 colour; in float size;
    out vec4 color;
    ${LIGHT}
    void main() {
      // Where the ray from the eye meets the sphere.
      vec3 ray = normalize(centre + vec3(1.15 * size * at, 0.0));
      float along = dot(ray, centre);
      float inside = size * size - dot(centre, centre) + along * along;
      if (inside < 0.0) discard;
      vec3 point = ray * (along - sqrt(inside));
      color = vec4(lit(colour, (point - centre) / size, ray, -point.z), 1.0);
      vec4 clip = projectionMatrix * vec4(point, 1.0);
      gl_FragDepth = 0.5 + 0.5 * clip.z / clip.w;
    }`,
};

// Bonds: strips that face the eye and are shaded as cylinders, half in the colour of either atom.
const STICKS = {
  vertex: `#version 300 es
    in vec2 corner; in vec3 begin; in vec3 end; in vec4 kinds;
    uniform mat4 viewMatrix, projectionMatrix;
    uniform vec3 origin, a, b, c, low, high;
    uniform float radius;
    out float across; out vec3 point; out vec3 side; out vec3 front; out vec3 first; out vec3 second; out float along;
    ${COLOUR}
    vec3 seen(vec3 s) { return (viewMatrix * vec4(origin + s.x * a + s.y * b + s.z * c, 1.0)).xyz; }
    bool inside(vec3 s) { return all(greaterThanEqual(s, low)) && all(lessThanEqual(s, high)); }
    void main() {
      vec3 p = seen(begin), q = seen(end);
      side = normalize(cross(q - p, p + q));
      front = normalize(cross(side, q - p));
      if (dot(front, p + q) > 0.0) front = -front;
      across = corner.x;
      along = 0.5 + 0.5 * corner.y;
      point = mix(p, q, along) + radius * corner.x * side;
      first = mode > 0.5 && mode < 1.5 ? vec3(0.55) : colourOf(kinds.x, 0.0, kinds.z / 255.0);
      second = mode > 0.5 && mode < 1.5 ? vec3(0.55) : colourOf(kinds.y, 0.0, kinds.z / 255.0);
      gl_Position = inside(begin) && inside(end) ? projectionMatrix * vec4(point, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    uniform mat4 projectionMatrix;
    uniform float radius;
    in float across; in vec3 point; in vec3 side; in vec3 front; in vec3 first; in vec3 second; in float along;
    out vec4 color;
    ${LIGHT}
    void main() {
      float up = sqrt(max(0.0, 1.0 - across * across));
      vec3 surface = point + radius * up * front;
      vec3 normal = across * side + up * front;
      color = vec4(lit(along < 0.5 ? first : second, normal, normalize(surface), -surface.z), 1.0);
      vec4 clip = projectionMatrix * vec4(surface, 1.0);
      gl_FragDepth = 0.5 + 0.5 * clip.z / clip.w;
    }`,
};

const LINES = {
  vertex: `#version 300 es
    in vec3 position;
    uniform mat4 viewMatrix, projectionMatrix;
    uniform vec3 origin, a, b, c, low, high;
    void main() {
      bool shown = all(greaterThanEqual(position, low)) && all(lessThanEqual(position, high));
      gl_Position = shown
        ? projectionMatrix * viewMatrix * vec4(origin + position.x * a + position.y * b + position.z * c, 1.0)
        : vec4(2.0, 2.0, 2.0, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    uniform vec3 tint;
    out vec4 color;
    void main() { color = vec4(tint, 1.0); }`,
};

const EDGES = (() => {
  const lines = [];
  for (let axis = 0; axis < 3; axis++) {
    for (const u of [0, 1]) {
      for (const v of [0, 1]) {
        for (const w of [0, 1]) {
          const corner = [0, 0, 0];
          [corner[axis], corner[(axis + 1) % 3], corner[(axis + 2) % 3]] = [w, u, v];
          lines.push(...corner);
        }
      }
    }
  }
  return new Float32Array(lines);
})();

// Draws into a canvas, which it fills. `content`, as the program sends it: the species of each atom, their
// colours and relative radii, the size of all of them, pairs of atoms that are bound, and which atoms are those of water.
class Scene {
  constructor(canvas, content) {
    const { Renderer, Camera, Transform, Program, Mesh, Geometry } = ogl;
    this.canvas = canvas;
    this.renderer = new Renderer({ canvas, webgl: 2, dpr: Math.min(window.devicePixelRatio, 2), antialias: true });
    const gl = (this.gl = this.renderer.gl);
    this.camera = new Camera(gl, { fov: 35 });
    this.root = new Transform();
    // Other kinds than 255 for what is shown.
    this.kinds = new Uint8Array(bytes(content.kinds)).map((kind) => kind % MOST_COLOURS);
    this.water = new Uint8Array(bytes(content.water));
    this.bonds = new Uint32Array(bytes(content.bonds));
    const { kinds, bonds } = this;
    const parts = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16) / 255);
    const palette = Array.from({ length: MOST_COLOURS }, (_, k) => parts(content.colours[k % content.colours.length]));
    // Of the mean distance of atoms.
    this.size = content.size;
    const n = kinds.length;
    const hues = moleculeHues(n, bonds);
    const sizes = Array.from({ length: MOST_COLOURS }, (_, k) => content.radii[k % content.radii.length]);
    const cell = {
      origin: { value: [0, 0, 0] }, a: { value: [1, 0, 0] }, b: { value: [0, 1, 0] }, c: { value: [0, 0, 1] },
      low: { value: [-0.01, -0.01, -0.01] }, high: { value: [1.01, 1.01, 1.01] },
    };
    const looks = {
      palette: { value: palette }, mode: { value: 0 }, ground: { value: [1, 1, 1] }, haze: { value: [0, 1] },
    };
    this.uniforms = { ...cell, ...looks, sizes: { value: sizes }, radius: { value: 1 } };
    this.sticksRadius = { value: 1 };
    this.tint = { value: [0.35, 0.35, 0.35] };
    this.atoms = new Geometry(gl, {
      corner: { size: 2, data: new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]) },
      place: { instanced: 1, size: 3, data: new Uint16Array(3 * n), type: gl.UNSIGNED_SHORT, normalized: true },
      kind: { instanced: 1, size: 1, data: kinds, type: gl.UNSIGNED_BYTE },
      value: { instanced: 1, size: 1, data: new Uint8Array(n), type: gl.UNSIGNED_BYTE, normalized: true },
      hue: { instanced: 1, size: 1, data: hues, type: gl.UNSIGNED_BYTE, normalized: true },
    });
    const mesh = (geometry, shaders, mode, uniforms) => {
      const program = new Program(gl, { ...shaders, uniforms, cullFace: null });
      const made = new Mesh(gl, { geometry, program, mode, frustumCulled: false });
      made.setParent(this.root);
      return made;
    };
    mesh(this.atoms, SPHERES, gl.TRIANGLE_STRIP, this.uniforms);
    const frame = new Geometry(gl, { position: { size: 3, data: EDGES } });
    const whole = { low: { value: [-1, -1, -1] }, high: { value: [2, 2, 2] } };
    mesh(frame, LINES, gl.LINES, { ...cell, ...whole, tint: this.tint });
    if (bonds.length) {
      const ends = new Uint8Array(2 * bonds.length);
      bonds.forEach((atom, k) => (ends[4 * (k >> 1) + (k & 1)] = kinds[atom]));
      for (let k = 0; k < bonds.length; k += 2) ends[2 * k + 2] = hues[bonds[k]];
      this.sticks = new Geometry(gl, {
        corner: { size: 2, data: new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]) },
        begin: { instanced: 1, size: 3, data: new Float32Array(3 * (bonds.length / 2)) },
        end: { instanced: 1, size: 3, data: new Float32Array(3 * (bonds.length / 2)) },
        kinds: { instanced: 1, size: 4, data: ends, type: gl.UNSIGNED_BYTE },
      });
      mesh(this.sticks, STICKS, gl.TRIANGLE_STRIP, { ...cell, ...looks, radius: this.sticksRadius });
    }
    this.frames = 0;
    this.paint();
    themed.push(() => this.paint());
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
  }

  // Takes ground and lines from the style of the page.
  paint() {
    const parts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((part) => Number(part) / 255);
    const ground = parts(getComputedStyle(this.canvas.parentElement).backgroundColor);
    this.gl.clearColor(...ground, 1);
    this.uniforms.ground.value = ground;
    this.tint.value = parts(tone("quiet"));
    this.stale = true;
  }

  // `box`: origin and the three edges; `places`: Uint16Array; `periodic`: 1, 2 and 4 for periodic edges.
  show(box, places, periodic) {
    this.periodic = periodic;
    const [origin, a, b, c] = box.map(turned);
    const u = this.uniforms;
    [u.origin.value, u.a.value, u.b.value, u.c.value] = [origin, a, b, c];
    const { place } = this.atoms.attributes;
    place.data = places;
    place.needsUpdate = true;
    this.places = places;
    if (this.bonds.length) this.stretch(places);
    if (!this.orbit) this.lookAt(origin, a, b, c, places.length / 3);
    this.stale = true;
  }

  // Bonds from atom to atom, by the nearest image.
  stretch(places) {
    const { begin, end } = this.sticks.attributes;
    for (let k = 0; k < this.bonds.length; k += 2) {
      const [i, j, to] = [3 * this.bonds[k], 3 * this.bonds[k + 1], 3 * (k / 2)];
      if (this.dry && this.water[this.bonds[k]]) {
        begin.data.fill(2, to, to + 3);
        continue;
      }
      for (let d = 0; d < 3; d++) {
        const from = places[i + d] / 65535;
        const apart = places[j + d] / 65535 - from;
        begin.data[to + d] = from;
        end.data[to + d] = from + apart - Math.round(apart);
      }
    }
    begin.needsUpdate = true;
    end.needsUpdate = true;
  }

  lookAt(origin, a, b, c, atoms) {
    const middle = origin.map((o, d) => o + 0.5 * (a[d] + b[d] + c[d]));
    const cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const volume = Math.abs(cross[0] * c[0] + cross[1] * c[1] + cross[2] * c[2]);
    this.spacing = Math.cbrt(volume / Math.max(atoms, 1));
    const size = Math.hypot(a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2]);
    // A distance at which the box fits, on a tall screen, too.
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    const away = size * Math.max(1.52, 1.7 * (clientHeight / Math.max(clientWidth, 1)));
    // Seen from above, the nearest corner is low: the middle of the picture is, too.
    middle[1] -= 0.045 * size;
    [0.42, 0.3, 0.86].forEach((part, d) => (this.camera.position[d] = middle[d] + part * away));
    this.extent = size;
    this.camera.perspective({ near: 0.01 * size, far: 20 * size });
    const target = new ogl.Vec3(...middle);
    this.orbit = new ogl.Orbit(this.camera, { element: this.canvas, target, ease: 0.4, inertia: 0.5 });
    this.setRadius(this.size);
    this.resize();
    const step = () => {
      requestAnimationFrame(step);
      const before = this.camera.position.toString() + this.orbit.target.toString();
      this.orbit.update();
      if (this.stale || before !== this.camera.position.toString() + this.orbit.target.toString()) this.draw();
    };
    step();
  }

  draw() {
    this.stale = false;
    this.frames += 1;
    const away = this.camera.position.distance(this.orbit.target);
    this.uniforms.haze.value = [away - 0.3 * this.extent, away + 0.6 * this.extent];
    this.renderer.render({ scene: this.root, camera: this.camera });
    this.overlay?.();
  }

  // Place of an atom in parts of the box's edges.
  part(atom) {
    return [0, 1, 2].map((d) => this.places[3 * atom + d] / 65535);
  }

  // Point of the scene at parts of the box's edges.
  point(part) {
    const { origin, a, b, c } = this.uniforms;
    return origin.value.map((o, d) => o + part[0] * a.value[d] + part[1] * b.value[d] + part[2] * c.value[d]);
  }

  // The shortest of a vector and its images along the periodic edges.
  nearest(along) {
    const edges = [this.uniforms.a.value, this.uniforms.b.value, this.uniforms.c.value];
    const cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const inner = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    const volume = inner(edges[0], cross(edges[1], edges[2]));
    const parts = [0, 1, 2].map((k) => inner(along, cross(edges[(k + 1) % 3], edges[(k + 2) % 3])) / volume);
    const boxes = parts.map((part, k) => ((this.periodic >> k) & 1 ? Math.round(part) : 0));
    return along.map((x, d) => x - edges.reduce((sum, edge, k) => sum + boxes[k] * edge[d], 0));
  }

  // Pixels of the canvas at a point of the scene.
  onScreen(point) {
    const seen = new ogl.Vec3(...point).applyMatrix4(this.camera.projectionViewMatrix);
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    return [(0.5 + 0.5 * seen[0]) * clientWidth, (0.5 - 0.5 * seen[1]) * clientHeight];
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!clientWidth || !clientHeight) return;
    this.renderer.setSize(clientWidth, clientHeight);
    this.camera.perspective({ aspect: clientWidth / clientHeight });
    this.stale = true;
  }

  // In mean distances of neighbours.
  setRadius(size) {
    this.uniforms.radius.value = size * this.spacing;
    this.sticksRadius.value = Math.min(0.42 * size, 0.12) * this.spacing;
    this.stale = true;
  }

  // Colours by "species", "molecule", or values between 0 and 255.
  colour(by, values) {
    const { value } = this.atoms.attributes;
    this.uniforms.mode.value = values ? 1 : by === "molecule" ? 2 : 0;
    if (values) {
      value.data = values;
      value.needsUpdate = true;
    }
    this.stale = true;
  }

  // Saves what is seen, sharp enough for print.
  save(name) {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    const sharp = this.renderer.dpr;
    this.renderer.dpr = Math.min(3, 4096 / Math.max(clientWidth, clientHeight));
    this.renderer.setSize(clientWidth, clientHeight);
    this.draw();
    save(this.canvas, name);
    this.renderer.dpr = sharp;
    this.resize();
  }

  // Shows or hides water.
  setWater(shown) {
    this.dry = !shown;
    const { kind } = this.atoms.attributes;
    kind.data = shown ? this.kinds : this.kinds.map((k, atom) => (this.water[atom] ? HIDDEN : k));
    kind.needsUpdate = true;
    if (this.bonds.length && this.places) this.stretch(this.places);
    this.stale = true;
  }

  // Hides what lies beyond a part of an axis.
  setClip(axis, part) {
    const high = [1.01, 1.01, 1.01];
    if (axis >= 0) high[axis] = part >= 1 ? 1.01 : part;
    this.uniforms.high.value = high;
    this.stale = true;
  }
}

// For each atom the hue of its molecule: those with neighbouring numbers are far apart on the wheel.
function moleculeHues(n, bonds) {
  const leader = Uint32Array.from({ length: n }, (_, k) => k);
  const find = (k) => {
    while (leader[k] !== k) k = leader[k] = leader[leader[k]];
    return k;
  };
  for (let k = 0; k < bonds.length; k += 2) leader[find(bonds[k])] = find(bonds[k + 1]);
  const numbers = new Map();
  return Uint8Array.from({ length: n }, (_, k) => {
    const molecule = find(k);
    if (!numbers.has(molecule)) numbers.set(molecule, numbers.size);
    return 255 * ((numbers.get(molecule) * 0.618034) % 1);
  });
}

// The meaning of colours, beside the choice of them: a scale, or the names of species.
function showScale(by) {
  const place = document.getElementById("scale");
  document.getElementById("names").hidden = by !== "species";
  const ends = { speed: ["slow", "fast"], order: ["disordered", "crystalline"] }[by];
  place.replaceChildren();
  if (!ends) return;
  const bar = document.createElement("i");
  bar.className = "scale";
  bar.style.background = `linear-gradient(to right, ${[...Array(11).keys()].map((k) => warm(k / 10)).join(", ")})`;
  place.append(`${ends[0]} `, bar, ` ${ends[1]}`);
}

// The controls of a scene; `recolour` is told by what.
function sceneControls(scene, recolour) {
  const element = (id) => document.getElementById(id);
  element("size").value = scene.size;
  element("size").addEventListener("input", (e) => scene.setRadius(Number(e.target.value)));
  element("colour").addEventListener("change", (e) => {
    showScale(e.target.value);
    recolour(e.target.value);
  });
  const clip = () => {
    element("clip").hidden = element("axis").value === "-1";
    scene.setClip(Number(element("axis").value), Number(element("clip").value));
  };
  for (const name of ["axis", "clip"]) element(name).addEventListener("input", clip);
  element("water")?.addEventListener("change", (e) => scene.setWater(e.target.checked));
  element("picture").addEventListener("click", () => scene.save("atoms"));
}

// A frame as the program sends it: time, step, box, largest speed, places, speeds, and the rest behind them.
function decode(buffer) {
  const view = new DataView(buffer);
  const number = (k) => view.getFloat64(8 * k, true);
  const n = number(0);
  const box = [0, 1, 2, 3].map((row) => [0, 1, 2].map((d) => number(4 + 3 * row + d)));
  const start = 8 * 17;
  const places = new Uint16Array(buffer, start, 3 * n);
  const fastest = number(3);
  const speeds = fastest > 0 ? new Uint8Array(buffer, start + 6 * n, n) : null;
  const rest = buffer.slice(start + 6 * n + (speeds ? n : 0));
  return { time: number(1), step: number(2), fastest, box, places, speeds, periodic: number(16), rest };
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
