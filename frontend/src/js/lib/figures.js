// Charts of a page: their code is loaded only where there is one.
import { onThemeChange } from "./base.js";
import { beforeCharts, json } from "./dom.js";
import { addSaveButton } from "./save.js";

const redraws = [];
onThemeChange(() => {
  for (const redraw of redraws) redraw();
});

async function showStrips() {
  const strips = json("strips-json");
  const { drawStrip } = await import("./strip.js");
  await beforeCharts();
  const drawn = new Map();
  const draw = () => {
    for (const strip of strips) {
      drawn.get(strip.id)?.destroy();
      const canvas = document.getElementById(strip.id);
      if (canvas) drawn.set(strip.id, drawStrip(canvas, strip));
    }
  };
  draw();
  for (const id of drawn.keys()) addSaveButton(document.getElementById(id).closest("figure"), () => drawn.get(id));
  redraws.push(draw);
}

async function showPlots() {
  const { drawPlots } = await import("./plots.js");
  await beforeCharts();
  redraws.push(drawPlots());
}

/** Draws the plots and strips that the page holds. */
export function showCharts() {
  if (document.getElementById("strips-json")) showStrips();
  if (document.querySelector("figure[data-plot]:not([data-is-drawn])")) showPlots();
}
