// Compare page: a small chart for each figure.
import { onThemeChange } from "../lib/base.js";
import { json, pause } from "../lib/dom.js";
import { setUpPassOn } from "../lib/passon.js";

const drawn = new Map();

let drawBars = null; // the chart code, loaded with the first chart

function draw(one) {
  const canvas = document.getElementById(one.id);
  canvas.parentElement.style.height = `${80 + one.bars.length * 26}px`;
  drawn.get(one.id)?.destroy();
  drawn.set(one.id, drawBars(canvas, one, one.bars));
}

// One chart a frame, so that the page stays answerable meanwhile.
async function drawAll(charts) {
  ({ drawBars } = await import("../lib/barchart.js"));
  for (const one of charts) {
    draw(one);
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
