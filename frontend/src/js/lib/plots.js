// Draws the charts that a page carries as data (backend/site/plots.py), each with its legend.
import { applyTheme, Chart, figure, referenceLine } from "./chartkit.js";
import { token } from "./colours.js";
import { element, json, legendEntry, pause } from "./dom.js";
import { addSaveButton } from "./save.js";
import { number } from "./words.js";

const SHAPES = ["circle", "triangle", "rect", "rectRot", "star", "crossRot"];
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4], [1, 4]];
const GLYPHS = { line: ["●", "▲", "■", "◆", "✳", "✕"], dots: ["○", "△", "□", "◇", "✳", "✕"] };
const FLAT_NAME_CHARS = 18;
const CHAR_PX = 7; // of a 12 px face, on the wide side
const MOST_NAMES = 12; // bars that stand side by side and are all named
const MOST_DOTTED = 40; // longer lines are drawn without a dot at every value
const DAY = 86_400_000;
const FEW_DAYS = 8; // up to which the hour is shown, too

const tone = (mark) => token(`--series-${mark.tone % SHAPES.length}`);
const isDotted = (mark) => mark.values.filter((value) => value !== null).length <= MOST_DOTTED;

function points(plot, values, more = () => ({})) {
  const point = (x, y) => (plot.isFlat ? { x: y, y: x } : { x, y });
  return plot.x.values.map((x, place) => ({ ...point(x, values[place]), ...more(place) }));
}

function bars(plot, mark) {
  const [low, high] = plot.isFlat ? ["xMin", "xMax"] : ["yMin", "yMax"];
  const range = (place) =>
    mark.lows && mark.values[place] !== null ? { [low]: mark.lows[place], [high]: mark.highs[place] } : {};
  return {
    type: "barWithErrorBars",
    label: mark.label,
    yAxisID: mark.axis,
    data: points(plot, mark.values, range),
    backgroundColor: tone(mark),
    borderRadius: 2,
    maxBarThickness: 56,
    barPercentage: 0.86,
    categoryPercentage: 0.72,
    errorBarColor: token("--ink"),
    errorBarWhiskerColor: token("--ink"),
    errorBarLineWidth: 1.25,
    errorBarWhiskerLineWidth: 1.25,
    errorBarWhiskerSize: 8,
    order: 2,
  };
}

function line(plot, mark) {
  const isDots = mark.kind === "dots";
  return {
    type: "line",
    label: mark.label,
    yAxisID: mark.axis,
    data: points(plot, mark.values),
    showLine: !isDots,
    borderColor: tone(mark),
    backgroundColor: isDots ? token("--card") : mark.kind === "area" ? `${tone(mark)}59` : tone(mark),
    borderWidth: isDots ? 2 : 1.75,
    borderDash: isDots || mark.kind === "area" ? [] : DASHES[mark.tone % DASHES.length],
    pointStyle: SHAPES[mark.tone % SHAPES.length],
    pointRadius: isDots ? 6 : mark.kind === "line" && isDotted(mark) ? 3 : 0,
    pointHitRadius: 8,
    stepped: mark.isStepped,
    stack: mark.kind === "area" ? "areas" : mark.label,
    fill: mark.kind === "area" ? (plot.isStacked ? "stack" : "origin") : false,
    // Moments without a value lie between known ones; a category without a value is one of its own.
    spanGaps: plot.x.kind !== "category" && !mark.isStepped,
    // Dots at the edge are drawn whole.
    clip: 10,
    order: isDots ? 0 : 1,
  };
}

// A bar from its low to its high value; several of one place lie on each other.
function spans(mark) {
  return {
    type: "bar",
    label: mark.label,
    data: mark.lows.map((low, place) => [low, mark.highs[place]]),
    backgroundColor: tone(mark),
    // Low and high end of one input lie on one row, where they meet.
    grouped: false,
    barPercentage: 0.6,
    order: 2,
  };
}

// The range of a line as a band: an invisible lower line, and an upper one filled down to it.
function band(plot, mark) {
  const edge = (values, fill) => ({
    type: "line",
    yAxisID: mark.axis,
    data: points(plot, values),
    borderWidth: 0,
    pointRadius: 0,
    pointHitRadius: 0,
    backgroundColor: token("--band"),
    fill,
    spanGaps: true,
    isBand: true,
    order: 3,
  });
  return [edge(mark.lows, false), edge(mark.highs, "-1")];
}

function datasets(plot, hidden) {
  return plot.marks
    .filter((mark) => !hidden.has(mark.label))
    .flatMap((mark) => {
      if (mark.kind === "bar") return [bars(plot, mark)];
      if (mark.kind === "span") return [spans(mark)];
      return mark.lows ? [...band(plot, mark), line(plot, mark)] : [line(plot, mark)];
    });
}

function day(ms) {
  return new Intl.DateTimeFormat("en-CA", { timeZone: "UTC" }).format(ms);
}

// A comma in a name is where it is broken, and any space where it gets long.
function lines(name, mostChars) {
  const pieces = new RegExp(`.{1,${mostChars}}(?=\\s|$)|\\S+`, "g");
  return name.split(", ").flatMap((part) => part.match(pieces).map((one) => one.trim()));
}

// Few days have hours, too.
function instant(plot, ms) {
  const isLong = plot.x.values.at(-1) - plot.x.values[0] > FEW_DAYS * DAY;
  return isLong ? day(ms) : `${day(ms)} ${new Date(ms).toISOString().slice(11, 16)}`;
}

function xAxis(plot) {
  const common = {
    title: { display: plot.x.label !== "", text: plot.x.label },
    grid: { display: false },
    border: { color: token("--line-strong") },
  };
  if (plot.x.kind === "category") {
    const count = plot.x.values.length;
    // Bars that stand share the width, and names that are wider than theirs would run into each other.
    const callback = function (place) {
      const width = plot.isFlat ? FLAT_NAME_CHARS : Math.max(4, Math.floor(this.width / count / CHAR_PX));
      return lines(String(plot.x.values[place]), width);
    };
    const ticks = { callback, autoSkip: !plot.isFlat && count > MOST_NAMES, maxRotation: 0 };
    if (plot.isFlat) common.title.display = false; // what stands beside bars that lie needs none
    return { ...common, type: "category", labels: plot.x.values, offset: true, ticks };
  }
  if (plot.x.kind === "time") return { ...common, ...timeRange(plot.x.values), type: "linear" };
  const ticks = { maxTicksLimit: 8, maxRotation: 0 };
  const last = plot.x.values.at(-1);
  // Dots at the end need space; a line may end at the edge.
  const end = plot.marks.every((mark) => mark.kind === "dots") ? { suggestedMax: last * 1.05 } : { max: last };
  return { ...common, min: 0, ...end, type: "linear", ticks };
}

// From midnight to midnight, with a tick every so many whole days.
function timeRange(values) {
  const min = Math.floor(values[0] / DAY) * DAY;
  const max = Math.ceil((values.at(-1) + 1) / DAY) * DAY;
  if (max - min === DAY) {
    const hour = (ms) => new Date(ms).toISOString().slice(11, 16);
    return { min, max, ticks: { stepSize: DAY / 8, maxRotation: 0, callback: hour } };
  }
  const stepSize = Math.ceil((max - min) / DAY / 6) * DAY;
  return { min, max, ticks: { stepSize, maxRotation: 0, callback: day } };
}

function yAxis(axis, position) {
  const isLeft = position !== "right";
  return {
    type: axis.isLog ? "logarithmic" : "linear",
    position,
    beginAtZero: axis.isFromZero && !axis.isLog,
    suggestedMax: axis.most ?? undefined,
    title: { display: true, text: axis.label },
    grid: { display: isLeft, drawTicks: false },
    border: { display: !isLeft, color: token("--line-strong") },
    ticks: { padding: 6, maxTicksLimit: 7, callback: shortFigure },
  };
}

function shortFigure(value) {
  return number(value, { maximumSignificantDigits: 3, notation: value >= 1e5 ? "compact" : "standard" });
}

function tooltip(plot) {
  const unit = (mark) => (mark.axis === "y2" ? plot.y2 : plot.y).label;
  return {
    filter: (item) => !item.dataset.isBand,
    callbacks: {
      title: ([item]) =>
        plot.x.kind === "time"
          ? instant(plot, item.parsed.x)
          : `${plot.x.label} ${plot.x.values[item.dataIndex]}`.trim(),
      label: (item) => {
        const mark = plot.marks.find(({ label }) => label === item.dataset.label);
        return `${mark.label}: ${figure(mark.values[item.dataIndex])} ${unit(mark)}`;
      },
    },
  };
}

function levels(plot) {
  const place = (index) => (index % 2 ? "start" : "end");
  const axis = plot.isFlat ? "x" : "y";
  const made = plot.lines.map(({ value, label }, index) => referenceLine(axis, value, label, place(index)));
  return Object.fromEntries(made.map((one, index) => [`level${index}`, one]));
}

function scales(plot) {
  const x = { ...xAxis(plot), stacked: plot.isStacked };
  const y = { ...yAxis(plot.y, plot.isFlat ? "bottom" : "left"), stacked: plot.isStacked };
  if (plot.isFlat) return { x: y, y: x };
  return { x, y, ...(plot.y2 ? { y2: yAxis(plot.y2, "right") } : {}) };
}

function drawPlot(canvas, plot, hidden) {
  return new Chart(canvas, {
    type: "line",
    data: { datasets: datasets(plot, hidden) },
    options: {
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false, axis: plot.isFlat ? "y" : "x" },
      indexAxis: plot.isFlat ? "y" : "x",
      scales: scales(plot),
      plugins: { tooltip: tooltip(plot), annotation: { annotations: levels(plot) } },
    },
  });
}

function legendOf(mark, hidden, redraw) {
  const number = mark.tone % SHAPES.length;
  const hasShape = mark.kind === "dots" || (mark.kind === "line" && isDotted(mark));
  const shape = hasShape ? "shape" : mark.kind;
  const glyph = hasShape ? GLYPHS[mark.kind][number] : "";
  const key = element("span", { class: `key ${shape} tone-${number}`, "aria-hidden": "true" }, glyph);
  return legendEntry(key, mark.label, mark.label, hidden, redraw);
}

const begun = new WeakSet();

// Draws the plot of a figure; returns a function that draws it anew.
function drawIn(box) {
  const plot = json(box.dataset.plot);
  const hidden = new Set();
  let chart = null;
  const redraw = () => {
    applyTheme();
    chart?.destroy();
    // A part that the server has replaced is not drawn again.
    chart = box.isConnected ? drawPlot(box.querySelector("canvas"), plot, hidden) : null;
  };
  redraw();
  if (plot.marks.length > 1) {
    box.querySelector("ul.legends").replaceChildren(...plot.marks.map((mark) => legendOf(mark, hidden, redraw)));
  }
  addSaveButton(box, () => chart);
  box.dataset.isDrawn = "";
  return redraw;
}

// One after the other, so that the page stays answerable meanwhile.
async function drawEach(boxes, redraws) {
  for (const box of boxes) {
    if (redraws.length) await pause();
    if (box.isConnected) redraws.push(drawIn(box));
  }
}

/** Draws every plot of the page that is not drawn yet; returns a function that draws them anew. */
export function drawPlots() {
  const boxes = [...document.querySelectorAll("figure[data-plot]")].filter((box) => !begun.has(box));
  for (const box of boxes) begun.add(box);
  const redraws = [];
  drawEach(boxes, redraws);
  return () => {
    for (const redraw of redraws) redraw();
  };
}
