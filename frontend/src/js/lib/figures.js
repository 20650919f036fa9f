// Charts of a page: their code is loaded only where there is one.
import { onThemeChange } from "./base.js";
import { json } from "./dom.js";

const redraws = [];
onThemeChange(() => redraws.forEach((redraw) => redraw()));

async function showStrips() {
  const strips = json("strips-json");
  const { drawStrip } = await import("./strip.js");
  let drawn = [];
  const draw = () => {
    for (const chart of drawn) chart.destroy();
    const canvases = strips.map((strip) => [strip, document.getElementById(strip.id)]);
    drawn = canvases.filter(([, canvas]) => canvas).map(([strip, canvas]) => drawStrip(canvas, strip));
  };
  draw();
  redraws.push(draw);
}

async function showPlots() {
  const { drawPlots } = await import("./plots.js");
  redraws.push(drawPlots());
}

/** Draws the plots and strips that the page holds. */
export function showCharts() {
  if (document.getElementById("strips-json")) showStrips();
  if (document.querySelector("figure[data-plot]:not([data-is-drawn])")) showPlots();
}
