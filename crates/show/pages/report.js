// Plots that one can hover and zoom, and the last configuration.
"use strict";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];
const short = (x) => {
  if (x == null) return "";
  const size = Math.abs(x);
  if (x !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(3);
  return String(Number(x.toPrecision(6)));
};

function plot(place, figure) {
  const tables = figure.curves.map((c) =>
    c.error ? [c.x, c.y, c.y.map((y, k) => y - c.error[k]), c.y.map((y, k) => y + c.error[k])] : [c.x, c.y]);
  const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
  const [series, bands] = [[{ label: figure.x.label, value: (_, v) => short(v) }], []];
  figure.curves.forEach((curve, k) => {
    const colour = COLOURS[k % COLOURS.length];
    const value = (_, v) => short(v);
    series.push({ label: curve.label || figure.y.label, stroke: colour, width: 1.5, points: { show: false }, spanGaps: true, value });
    if (curve.error) {
      const edge = { stroke: "transparent", points: { show: false }, spanGaps: true, value };
      series.push({ ...edge, label: "− error" }, { ...edge, label: "+ error" });
      const k = series.length;
      bands.push({ series: [k - 1, k - 2], fill: colour + "33" });
    }
  });
  const scale = (axis, time) => ({ time, distr: axis.scale === "log" ? 3 : 1 });
  const axis = (of, size) => ({
    label: of.label, labelFont: "13px sans-serif", font: "12px sans-serif", labelSize: 22, size,
    stroke: "#222", grid: { stroke: "#0001", width: 1 }, ticks: { stroke: "#0004", width: 1 },
    values: (_, ticks) => ticks.map((t) => (t == null ? "" : short(t))),
  });
  const width = () => Math.max(280, place.clientWidth);
  const chart = new uPlot({
    width: width(), height: 300, series, bands,
    scales: { x: scale(figure.x, false), y: scale(figure.y) },
    axes: [axis(figure.x, 34), axis(figure.y, 64)],
    cursor: { drag: { x: true, y: true, uni: 20 } },
  }, data, place);
  // Edges of bands have no words of their own.
  series.forEach((s, k) => {
    if (s.stroke === "transparent") chart.root.querySelectorAll(".u-legend .u-series")[k].style.display = "none";
  });
  new ResizeObserver(() => chart.setSize({ width: width(), height: 300 })).observe(place);
}

const content = JSON.parse(document.getElementById("content").textContent);
content.figures.forEach((figure, k) => plot(document.getElementById(`figure-${k}`), figure));
const canvas = document.getElementById("atoms");
if (canvas) {
  const { frame, order } = content.scene;
  const last = decode(bytes(frame));
  const scene = new Scene(canvas, content.scene);
  scene.show(last.box, last.places, null);
  const values = { species: null, speed: last.speeds, order: new Uint8Array(bytes(order)) };
  document.getElementById("colour").addEventListener("change", (e) => {
    scene.colour(values[e.target.value]);
    showScale(document.getElementById("scale"), e.target.value);
  });
  const clip = () => scene.setClip(Number(document.getElementById("axis").value), Number(document.getElementById("clip").value));
  for (const name of ["axis", "clip"]) document.getElementById(name).addEventListener("input", clip);
  document.getElementById("water")?.addEventListener("change", (e) => scene.setWater(e.target.checked));
  window.scene = scene;
}
