// The parts of Chart.js that the pages use, registered by hand; loaded only where a chart is.
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  ScatterController,
  Tooltip,
} from "chart.js";
import { BarWithErrorBar, BarWithErrorBarsController } from "chartjs-chart-error-bars";
import annotation from "chartjs-plugin-annotation";
import { onPaper } from "./base.js";
import { token } from "./colours.js";
import { pause } from "./dom.js";
import { number } from "./words.js";

// To work a chart out and to draw it are two tasks, so that a slow machine answers between them.
const undrawn = new WeakMap();
const drawsApart = {
  id: "drawsApart",
  beforeInit: drawApart,
  beforeRender(chart) {
    if (undrawn.get(chart) === "soon") {
      undrawn.set(chart, "next");
      pause().then(() => {
        undrawn.delete(chart);
        if (chart.ctx) chart.draw(); // else it was destroyed meanwhile
      });
    }
    return !undrawn.has(chart);
  },
};

/** Lets the next change of the chart be drawn in a task of its own. */
export function drawApart(chart) {
  undrawn.set(chart, "soon");
}

Chart.register(
  BarController,
  BarElement,
  BarWithErrorBar,
  BarWithErrorBarsController,
  CategoryScale,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  ScatterController,
  Tooltip,
  annotation,
  drawsApart,
);

// Between the margins of A4 and Letter upright; the style sheet fits the picture to what there is.
const PAPER_WIDTH_PX = 700;
const NOTHING = 1e-15;
const IN_TWO_COLUMNS = ".strips, .plots:has(> :nth-child(3))";

onPaper((isPrinted) => {
  for (const chart of Object.values(Chart.instances)) {
    const width = chart.canvas.closest(IN_TWO_COLUMNS) ? PAPER_WIDTH_PX / 2 : PAPER_WIDTH_PX;
    isPrinted ? chart.resize(width, chart.height) : chart.resize();
  }
});

/** Applies type and colours of the current theme to charts made from now on. */
export function applyTheme() {
  // Pictures are saved and tests look at once; a figure that grows is not yet true.
  Chart.defaults.animation = false;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  Chart.defaults.color = token("--muted");
  Chart.defaults.borderColor = token("--grid");
  Object.assign(Chart.defaults.plugins.tooltip, {
    backgroundColor: token("--ink"),
    titleColor: token("--card"),
    bodyColor: token("--card"),
    padding: 10,
    cornerRadius: 6,
    displayColors: false,
  });
}

/** Number with at most four significant digits, written as in the tables (backend/foundation/figures.py). */
export function figure(value) {
  const size = Math.abs(value);
  if (size > 0 && size < NOTHING) return "≈ 0";
  // Halves to the even neighbour, because Python does so.
  return number(value, { maximumSignificantDigits: 4, roundingMode: "halfEven" });
}

/** Dashed reference line with a label. */
export function referenceLine(axis, value, label, position) {
  return {
    type: "line",
    scaleID: axis,
    value,
    borderColor: token("--muted"),
    borderWidth: 1,
    borderDash: [4, 4],
    // Behind the bars, so that no figure is crossed out.
    drawTime: "beforeDatasetsDraw",
    label: {
      display: label !== "",
      content: label,
      position,
      yAdjust: axis === "x" ? -17 : 0,
      backgroundColor: token("--card"),
      color: token("--muted"),
      font: { size: 11, weight: "normal" },
      padding: { x: 5, y: 2 },
    },
  };
}

export { Chart };
