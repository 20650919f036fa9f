// Report page: the frozen ranking as bars.
import { onThemeChange } from "../lib/base.js";
import { json } from "../lib/dom.js";
import { setUpPassOn } from "../lib/passon.js";

const canvas = document.getElementById("chart");

async function show() {
  const { drawAxes, showBars } = await import("../lib/barchart.js");
  const data = json("chart-json");
  canvas.parentElement.style.height = `${64 + Math.max(data.bars.length, 2) * 25}px`;
  let chart = null;
  const draw = () => {
    chart?.destroy();
    chart = drawAxes(canvas, data, data.bars);
    showBars(chart, data.bars);
  };
  draw();
  onThemeChange(draw);
}

if (canvas) show();
setUpPassOn();
