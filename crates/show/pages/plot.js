// Light and dark, plots that one can hover and zoom, and pictures to save.
"use strict";

// The colour that the style gives to a name, as the canvas takes it.
const tone = (() => {
  const probe = document.createElement("i");
  probe.hidden = true;
  return (name) => {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
})();
const CURVES = 7;

// Functions that draw with colours, called again when these change.
const themed = [];
function retheme() {
  for (const draw of themed) draw();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
document.getElementById("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  retheme();
});

const short = (x) => {
  if (x == null) return "";
  const size = Math.abs(x);
  const far = x !== 0 && (size < 1e-3 || size >= 1e6);
  const text = far ? Number(x.toPrecision(4)).toExponential() : String(Number(x.toPrecision(6)));
  return text.replaceAll("-", "−").replace("e+", "e");
};

// Leaves a canvas in the folder of downloads.
function save(canvas, name) {
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

// A figure in a place that it fills. Curves can be hidden by their words; `height` is that of the
// place where it is not given.
class Plot {
  constructor(place, figure, height) {
    this.place = place;
    this.height = height;
    place.classList.add("plot");
    this.keys = document.createElement("div");
    this.keys.className = "keys";
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.body = document.createElement("div");
    place.append(this.keys, this.body, this.tip);
    this.draw(figure);
    themed.push(() => this.chart.redraw(false));
    new ResizeObserver(() => this.chart.setSize(this.size())).observe(place);
  }

  size() {
    const left = this.place.clientHeight - this.keys.offsetHeight;
    return { width: Math.max(160, this.place.clientWidth), height: this.height ?? Math.max(90, left) };
  }

  // Draws other numbers; a figure with other curves is drawn anew.
  update(figure) {
    const words = (f) => f.curves.map((c) => c.label + (c.error ? "±" : "")).join("\n");
    const same = words(figure) === words(this.figure) && figure.x.label === this.figure.x.label
      && figure.x.scale === this.figure.x.scale && figure.y.scale === this.figure.y.scale;
    if (!same) {
      this.chart.destroy();
      return this.draw(figure);
    }
    this.figure = figure;
    this.chart.setData(table(figure));
  }

  // Marks a place along the axis, a moment for instance.
  mark(x) {
    this.marked = x;
    this.chart.redraw(false);
  }

  draw(figure) {
    this.figure = figure;
    const [series, bands] = [[{}], []];
    const stroke = (k) => () => tone(`c${k % CURVES}`);
    // The curves behind each word: itself and the edges of its band.
    this.parts = figure.curves.map((curve, k) => {
      const parts = [series.length];
      series.push({ stroke: stroke(k), width: 1.5, points: { show: (chart) => chart.data[0].length < 3 }, spanGaps: true });
      if (curve.error) {
        const edge = { stroke: "transparent", points: { show: false }, spanGaps: true };
        parts.push(series.length, series.length + 1);
        series.push(edge, { ...edge });
        bands.push({ series: [parts[2], parts[1]], fill: () => tone(`c${k % CURVES}`).replace("rgb(", "rgba(").replace(")", ", 0.22)") });
      }
      return parts;
    });
    const scale = (axis, time) => ({ time, distr: axis.scale === "log" ? 3 : 1 });
    // Beside each other on little room the title says what is up.
    const axis = (label, size) => ({
      label, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif", labelSize: 20, labelGap: 2, size, gap: 4,
      stroke: () => tone("quiet"), grid: { stroke: () => tone("grid"), width: 1 }, ticks: { stroke: () => tone("edge"), width: 1, size: 5 },
      values: (_, ticks) => ticks.map((t) => (t == null ? "" : short(t))),
    });
    this.chart = new uPlot({
      ...this.size(), series, bands, legend: { show: false },
      scales: { x: scale(figure.x, false), y: scale(figure.y) },
      axes: [axis(figure.x.label, 24), axis(this.height ? figure.y.label : null, (_, ticks) => 16 + 6.6 * Math.max(3, ...(ticks ?? []).map((t) => t.length)))],
      cursor: { drag: { x: true, y: true, uni: 20 }, points: { size: 6 } },
      hooks: { setCursor: [(chart) => this.tell(chart)], draw: [(chart) => this.drawMark(chart)] },
    }, table(figure), this.body);
    this.words();
  }

  words() {
    const several = this.figure.curves.length > 1;
    this.keys.replaceChildren(...(several ? this.figure.curves : []).map((curve, k) => {
      const key = document.createElement("button");
      const colour = document.createElement("i");
      colour.style.background = `var(--c${k % CURVES})`;
      key.type = "button";
      key.ariaPressed = "true";
      key.append(colour, curve.label);
      key.addEventListener("click", () => {
        const show = key.ariaPressed !== "true";
        key.ariaPressed = String(show);
        for (const part of this.parts[k]) this.chart.setSeries(part, { show });
      });
      return key;
    }));
  }

  // The numbers under the pointer.
  tell(chart) {
    const { left, top, idx } = chart.cursor;
    this.tip.replaceChildren();
    if (left == null || left < 0 || idx == null) return;
    const lines = this.figure.curves.flatMap((curve, k) => {
      const [y, low] = [chart.data[this.parts[k][0]][idx], this.parts[k][1]];
      if (y == null || !chart.series[this.parts[k][0]].show) return [];
      const line = document.createElement("div");
      const dot = document.createElement("i");
      dot.style.background = `var(--c${k % CURVES})`;
      const error = low == null ? "" : ` ± ${short(Number((y - chart.data[low][idx]).toPrecision(2)))}`;
      line.append(dot, `${curve.label ? `${curve.label}: ` : ""}${short(y)}${error}`);
      return [line];
    });
    if (!lines.length) return;
    const along = document.createElement("div");
    along.textContent = `${this.figure.x.label}: ${short(chart.data[0][idx])}`;
    this.tip.append(along, ...lines);
    const at = { x: left + chart.over.offsetLeft, y: top + this.keys.offsetHeight };
    const beyond = at.x + 14 + this.tip.offsetWidth > this.place.clientWidth;
    this.tip.style.left = `${Math.max(0, beyond ? at.x - 14 - this.tip.offsetWidth : at.x + 14)}px`;
    this.tip.style.top = `${Math.max(0, at.y - this.tip.offsetHeight - 8)}px`;
  }

  drawMark(chart) {
    const { min, max } = chart.scales.x;
    if (this.marked == null || !(this.marked >= min && this.marked <= max)) return;
    const { ctx, bbox } = chart;
    const x = Math.round(chart.valToPos(this.marked, "x", true));
    ctx.save();
    ctx.strokeStyle = tone("accent");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  // Saves what is seen, on paper and with its words.
  save() {
    const from = this.chart.ctx.canvas;
    const unit = from.width / this.chart.width;
    const line = Math.round(18 * unit);
    const labels = this.figure.curves.map((c) => c.label).filter((label, _, all) => all.length > 1 && label);
    const to = document.createElement("canvas");
    [to.width, to.height] = [from.width, from.height + line * labels.length];
    const ctx = to.getContext("2d");
    ctx.fillStyle = tone("paper");
    ctx.fillRect(0, 0, to.width, to.height);
    ctx.font = `${Math.round(12 * unit)}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    labels.forEach((label, k) => {
      ctx.fillStyle = tone(`c${k % CURVES}`);
      ctx.fillRect(Math.round(64 * unit), (k + 0.5) * line - unit, Math.round(18 * unit), 2 * unit);
      ctx.fillStyle = tone("ink");
      ctx.fillText(label, Math.round(90 * unit), (k + 0.5) * line);
    });
    ctx.drawImage(from, 0, line * labels.length);
    save(to, this.figure.name);
  }
}

// The columns that uPlot draws: all places along, then each curve with the edges of its band.
function table(figure) {
  const tables = figure.curves.map((c) =>
    c.error ? [c.x, c.y, c.y.map((y, k) => y - c.error[k]), c.y.map((y, k) => y + c.error[k])] : [c.x, c.y]);
  return tables.length > 1 ? uPlot.join(tables) : tables[0];
}

// A figure with its title, or what is up where there is no height for both, and a button that saves it.
function figureCard(place, figure, height) {
  const caption = document.createElement("figcaption");
  const title = document.createElement("span");
  title.textContent = height ? figure.title : figure.y.label;
  title.title = figure.title;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button plain";
  button.title = "save this plot as a picture";
  button.ariaLabel = button.title;
  button.innerHTML = SAVE_ICON;
  caption.append(title, button);
  const body = document.createElement("div");
  place.append(caption, body);
  if (figure.note) {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = figure.note;
    place.append(note);
  }
  const plot = new Plot(body, figure, height);
  button.addEventListener("click", () => plot.save());
  return plot;
}

const icon = (path) => `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${path}"/></svg>`;
const SAVE_ICON = icon("M10 3v9m-3.5-3.5L10 12l3.5-3.5M4 15.5h12");
const PLAY_ICON = icon("M6.5 4.5v11l9-5.5z");
const PAUSE_ICON = icon("M7 4.5v11m6-11v11");
