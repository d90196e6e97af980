// Plots that one can hover and zoom, and the last configuration.
"use strict";

const content = JSON.parse(document.getElementById("content").textContent);
content.figures.forEach((figure, k) => figureCard(document.getElementById(`figure-${k}`), figure, 280));
const canvas = document.getElementById("atoms");
if (canvas) {
  const { frame, order } = content.scene;
  const last = decode(bytes(frame));
  const scene = new Scene(canvas, content.scene);
  scene.show(last.box, last.places, last.periodic);
  const values = { species: null, molecule: null, speed: last.speeds, order: new Uint8Array(bytes(order)) };
  sceneControls(scene, (by) => scene.colour(by, values[by]));
  window.scene = scene;
}
