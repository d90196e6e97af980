// Atoms in a box: spheres drawn as discs that the graphics card shades, so that 100,000 move
// smoothly. What is drawn comes as places in the box, 16 bits an axis.
"use strict";

// Colours beyond these begin anew.
const MOST_COLOURS = 32;
// What is not shown has this kind.
const HIDDEN = 255;

// The colour of a value between 0 and 1, as the shader has it.
const warm = (t) => {
  const parts = [0.1 + 1.5 * t, 0.15 + 0.75 * Math.sin(Math.PI * t), 0.75 - 1.1 * t];
  return `rgb(${parts.map((p) => Math.round(255 * Math.min(1, Math.max(0, p)))).join(" ")})`;
};

// The z axis of the box points up.
const turned = (v) => [v[1], v[2], v[0]];

const SPHERES = {
  vertex: `#version 300 es
    in vec2 corner; in vec3 place; in float kind; in float value;
    uniform mat4 viewMatrix, projectionMatrix;
    uniform vec3 origin, a, b, c, low, high;
    uniform vec3 palette[${MOST_COLOURS}];
    uniform float radius, mode;
    out vec2 at; out vec3 centre; out vec3 colour;
    vec3 warm(float t) {
      return clamp(vec3(0.1 + 1.5 * t, 0.15 + 0.75 * sin(3.14159 * t), 0.75 - 1.1 * t), 0.0, 1.0);
    }
    void main() {
      at = corner;
      bool shown = all(greaterThanEqual(place, low)) && all(lessThanEqual(place, high)) && kind < ${HIDDEN}.0;
      centre = (viewMatrix * vec4(origin + place.x * a + place.y * b + place.z * c, 1.0)).xyz;
      colour = mode < 0.5 ? palette[int(kind) % ${MOST_COLOURS}] : warm(value);
      // A disc seen from nearby covers a little more than its radius.
      gl_Position = shown ? projectionMatrix * vec4(centre + vec3(1.15 * radius * corner, 0.0), 1.0)
                          : vec4(2.0, 2.0, 2.0, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    uniform mat4 projectionMatrix;
    uniform float radius;
    in vec2 at; in vec3 centre; in vec3 colour;
    out vec4 color;
    void main() {
      // Where the ray from the eye meets the sphere.
      vec3 ray = normalize(centre + vec3(1.15 * radius * at, 0.0));
      float along = dot(ray, centre);
      float inside = radius * radius - dot(centre, centre) + along * along;
      if (inside < 0.0) discard;
      vec3 point = ray * (along - sqrt(inside));
      vec3 normal = (point - centre) / radius;
      float light = 0.35 + 0.65 * max(dot(normal, normalize(vec3(0.4, 0.6, 0.8))), 0.0);
      float shine = pow(max(dot(reflect(ray, normal), normalize(vec3(0.4, 0.6, 0.8))), 0.0), 30.0);
      color = vec4(colour * light + 0.25 * shine, 1.0);
      vec4 clip = projectionMatrix * vec4(point, 1.0);
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
// colours, pairs of atoms that are bound, and which atoms are those of water.
class Scene {
  constructor(canvas, content) {
    const { Renderer, Camera, Transform, Program, Mesh, Geometry } = ogl;
    this.canvas = canvas;
    this.renderer = new Renderer({ canvas, webgl: 2, dpr: Math.min(window.devicePixelRatio, 2), antialias: true });
    const gl = (this.gl = this.renderer.gl);
    gl.clearColor(1, 1, 1, 1);
    this.camera = new Camera(gl, { fov: 35 });
    this.root = new Transform();
    // Other kinds than 255 for what is shown.
    this.kinds = new Uint8Array(bytes(content.kinds)).map((kind) => kind % MOST_COLOURS);
    this.water = new Uint8Array(bytes(content.water));
    this.bonds = new Uint32Array(bytes(content.bonds));
    const { kinds, bonds } = this;
    const parts = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16) / 255);
    const palette = Array.from({ length: MOST_COLOURS }, (_, k) => parts(content.colours[k % content.colours.length]));
    // Of the mean distance of atoms: bonds show between small ones.
    this.size = bonds.length ? 0.2 : 0.36;
    const n = kinds.length;
    const cell = {
      origin: { value: [0, 0, 0] }, a: { value: [1, 0, 0] }, b: { value: [0, 1, 0] }, c: { value: [0, 0, 1] },
      low: { value: [-0.01, -0.01, -0.01] }, high: { value: [1.01, 1.01, 1.01] },
    };
    this.uniforms = {
      ...cell, palette: { value: palette }, radius: { value: 1 }, mode: { value: 0 },
    };
    this.atoms = new Geometry(gl, {
      corner: { size: 2, data: new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]) },
      place: { instanced: 1, size: 3, data: new Uint16Array(3 * n), type: gl.UNSIGNED_SHORT, normalized: true },
      kind: { instanced: 1, size: 1, data: kinds, type: gl.UNSIGNED_BYTE },
      value: { instanced: 1, size: 1, data: new Uint8Array(n), type: gl.UNSIGNED_BYTE, normalized: true },
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
    mesh(frame, LINES, gl.LINES, { ...cell, ...whole, tint: { value: [0.35, 0.35, 0.35] } });
    this.sticks = new Geometry(gl, { position: { size: 3, data: new Float32Array(6 * (bonds.length / 2)) } });
    if (bonds.length) mesh(this.sticks, LINES, gl.LINES, { ...cell, tint: { value: [0.2, 0.2, 0.2] } });
    this.frames = 0;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
  }

  // `box`: origin and the three edges; `places`: Uint16Array; `values`: Uint8Array for the colours,
  // or null for those of the species.
  show(box, places, values) {
    const [origin, a, b, c] = box.map(turned);
    const u = this.uniforms;
    [u.origin.value, u.a.value, u.b.value, u.c.value] = [origin, a, b, c];
    const { place } = this.atoms.attributes;
    place.data = places;
    place.needsUpdate = true;
    this.colour(values);
    this.places = places;
    if (this.bonds.length) this.stretch(places);
    if (!this.orbit) this.lookAt(origin, a, b, c, places.length / 3);
    this.stale = true;
  }

  // Bonds from atom to atom, by the nearest image.
  stretch(places) {
    const data = this.sticks.attributes.position.data;
    for (let k = 0; k < this.bonds.length; k += 2) {
      const [i, j] = [3 * this.bonds[k], 3 * this.bonds[k + 1]];
      if (this.dry && this.water[this.bonds[k]]) {
        data.fill(2, 3 * k, 3 * k + 6);
        continue;
      }
      for (let d = 0; d < 3; d++) {
        const from = places[i + d] / 65535;
        const apart = places[j + d] / 65535 - from;
        data[3 * k + d] = from;
        data[3 * k + 3 + d] = from + apart - Math.round(apart);
      }
    }
    this.sticks.attributes.position.needsUpdate = true;
  }

  lookAt(origin, a, b, c, atoms) {
    const middle = origin.map((o, d) => o + 0.5 * (a[d] + b[d] + c[d]));
    const cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const volume = Math.abs(cross[0] * c[0] + cross[1] * c[1] + cross[2] * c[2]);
    this.spacing = Math.cbrt(volume / Math.max(atoms, 1));
    const size = Math.hypot(a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2]);
    this.camera.position.set(middle[0] + 0.75 * size, middle[1] + 0.5 * size, middle[2] + 1.35 * size);
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
    this.renderer.render({ scene: this.root, camera: this.camera });
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
    this.stale = true;
  }

  colour(values) {
    const { value } = this.atoms.attributes;
    this.uniforms.mode.value = values ? 1 : 0;
    if (values) {
      value.data = values;
      value.needsUpdate = true;
    }
    this.stale = true;
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

// What colours mean, beside the choice of them.
function showScale(place, mode) {
  const ends = { speed: ["slow", "fast"], order: ["disordered", "crystalline"] }[mode];
  place.replaceChildren();
  if (!ends) return;
  const bar = document.createElement("i");
  bar.className = "scale";
  bar.style.background = `linear-gradient(to right, ${[...Array(11).keys()].map((k) => warm(k / 10)).join(", ")})`;
  place.append(`${ends[0]} `, bar, ` ${ends[1]}`);
}

// A frame as the program sends it: time, step, box, largest speed, places, speeds.
function decode(buffer) {
  const view = new DataView(buffer);
  const number = (k) => view.getFloat64(8 * k, true);
  const n = number(0);
  const box = [0, 1, 2, 3].map((row) => [0, 1, 2].map((d) => number(4 + 3 * row + d)));
  const start = 8 * 17;
  const places = new Uint16Array(buffer, start, 3 * n);
  const fastest = number(3);
  const speeds = fastest > 0 ? new Uint8Array(buffer, start + 6 * n, n) : null;
  return { time: number(1), step: number(2), fastest, box, places, speeds };
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
