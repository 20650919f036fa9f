// Report page: the frozen ranking as bars.
import { onThemeChange } from "../lib/base.js";
import { json } from "../lib/dom.js";
import { setUpPassOn } from "../lib/passon.js";

const canvas = document.getElementById("chart");

async function show() {
  const { drawBars } = await import("../lib/barchart.js");
  const data = json("chart-json");
  canvas.parentElement.style.height = `${64 + Math.max(data.bars.length, 2) * 25}px`;
  let chart = drawBars(canvas, data, data.bars);
  onThemeChange(() => {
    chart.destroy();
    chart = drawBars(canvas, data, data.bars);
  });
}

if (canvas) show();
setUpPassOn();
