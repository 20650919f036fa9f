// The ranking as horizontal bars with their intervals.
import { applyTheme, Chart, drawApart, figure, referenceLine } from "./chartkit.js";
import { providerFill, token } from "./colours.js";
import { _ } from "./words.js";

// The bar's figure, written where its whisker ends.
const figuresAtTheEnd = {
  id: "figuresAtTheEnd",
  afterDatasetsDraw(chart) {
    const pen = chart.ctx;
    pen.save();
    pen.fillStyle = token("--ink");
    pen.strokeStyle = token("--card");
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.font = `500 11.5px ${Chart.defaults.font.family}`;
    pen.textBaseline = "middle";
    if (!chart.data.datasets.length) return;
    chart.getDatasetMeta(0).data.forEach((bar, index) => {
      const { x, xMax } = chart.data.datasets[0].data[index];
      const place = chart.scales.x.getPixelForValue(Math.max(x, xMax ?? x)) + 7;
      pen.strokeText(figure(x), place, bar.y); // a halo keeps it apart from the reference line
      pen.fillText(figure(x), place, bar.y);
    });
    pen.restore();
  },
};

// The year of an old price ends the label and is kept.
function shortened(text, width) {
  const most = width < 320 ? 12 : width < 480 ? 17 : width < 640 ? 26 : 46;
  if (text.length <= most) return text;
  const [year = ""] = text.match(/, \d{4}$/) ?? [];
  return `${text.slice(0, most - 1 - year.length)}…${year}`;
}

// Seen both on the bar and beside it; one's own bars have the colour of ink themselves.
function whisker(bar) {
  return token(bar.provider === "own" ? "--whisker-own" : "--ink");
}

function dataset(bars, context) {
  return {
    data: bars.map((bar) => ({
      x: bar.value,
      y: bar.label,
      xMin: bar.low ?? undefined,
      xMax: bar.high ?? undefined,
    })),
    backgroundColor: bars.map((bar) => providerFill(bar.provider, context)),
    borderColor: token("--provider-edge"),
    borderWidth: { top: 0, bottom: 0, left: 0, right: 1.5 },
    // A pale bar would else end in nothing beside the card.
    borderSkipped: false,
    borderRadius: 2,
    barPercentage: 0.72,
    categoryPercentage: 0.92,
    errorBarColor: bars.map(whisker),
    errorBarWhiskerColor: bars.map(whisker),
    errorBarLineWidth: 1.25,
    errorBarWhiskerLineWidth: 1.25,
    errorBarWhiskerSize: 7,
  };
}

function tooltip(bars, { unit, range = "95%" }) {
  const interval = (bar) =>
    bar.low === null ? "" : _("{low} to {high} ({range})", { low: figure(bar.low), high: figure(bar.high), range });
  return {
    title: (items) => bars[items[0].dataIndex].label,
    label: (item) => {
      const bar = bars[item.dataIndex];
      return [`${figure(bar.value)} ${unit}`, interval(bar), bar.providerName].filter(Boolean);
    },
  };
}

function options(mode, bars) {
  const lines = mode.median === null ? {} : { median: referenceLine("x", mode.median, mode.medianLabel, "start") };
  return {
    indexAxis: "y",
    maintainAspectRatio: false,
    layout: { padding: { right: 62, top: 20 } },
    scales: {
      x: {
        // The length of a bar is the figure only if it begins at zero.
        beginAtZero: true,
        title: { display: true, text: mode.unit, font: { size: 12, weight: 500 } },
        grid: { drawTicks: false },
        border: { display: false },
        ticks: { padding: 6, maxTicksLimit: 7 },
      },
      y: {
        grid: { display: false },
        border: { color: token("--line-strong") },
        ticks: {
          autoSkip: false,
          color: token("--ink"),
          callback(_, index) {
            return shortened(bars[index].label, this.chart.width);
          },
        },
      },
    },
    plugins: {
      tooltip: { callbacks: tooltip(bars, mode) },
      // The label of the line stands above the area of the bars.
      annotation: { clip: false, annotations: lines },
    },
  };
}

/** The chart without its bars, which `showBars` adds: two tasks, so that a slow machine answers between them. */
export function drawAxes(canvas, mode, bars) {
  applyTheme();
  return new Chart(canvas, {
    type: "barWithErrorBars",
    data: { labels: [], datasets: [] },
    options: options(mode, bars),
    plugins: [figuresAtTheEnd],
  });
}

/** Draws the bars into their chart. */
export function showBars(chart, bars) {
  chart.data = { labels: bars.map((bar) => bar.label), datasets: [dataset(bars, chart.ctx)] };
  drawApart(chart);
  chart.update();
}

export { figure };
