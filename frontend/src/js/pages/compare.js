// Compare page: a small chart for each figure.
import { onThemeChange } from "../lib/base.js";
import { beforeCharts, json, pause } from "../lib/dom.js";
import { setUpPassOn } from "../lib/passon.js";

const drawn = new Map();

let barChart = null; // the chart code, loaded with the first chart

async function draw(one) {
  const canvas = document.getElementById(one.id);
  canvas.parentElement.style.height = `${80 + one.bars.length * 26}px`;
  drawn.get(one.id)?.destroy();
  const begun = barChart.drawAxes(canvas, one, one.bars);
  drawn.set(one.id, begun);
  await pause();
  if (drawn.get(one.id) === begun) barChart.showBars(begun, one.bars);
}

// One chart after the other, so that the page stays answerable meanwhile.
async function drawAll(charts) {
  barChart = await import("../lib/barchart.js");
  await beforeCharts();
  for (const one of charts) {
    await draw(one);
    await pause();
  }
}

async function save(one, picture) {
  const { savePicture } = await import("../lib/picture.js");
  savePicture(drawn.get(one.id), { ...picture, name: `${picture.name}-${one.id}`, title: one.title });
}

if (document.getElementById("small-charts")) {
  const { charts, picture } = json("small-charts");
  for (const one of charts) {
    document.querySelector(`[data-save="${one.id}"]`).addEventListener("click", () => save(one, picture));
  }
  drawAll(charts);
  onThemeChange(() => charts.filter(({ id }) => drawn.has(id)).forEach(draw));
}
setUpPassOn();
