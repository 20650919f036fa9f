// Price against score: points with intervals, the stepped line that nothing beats, and limits.
import { PointWithErrorBar, ScatterWithErrorBarsController } from "chartjs-chart-error-bars";
import { applyTheme, Chart, drawApart, figure, referenceLine } from "./chartkit.js";
import { isHollow, providerColour, providerShape, token } from "./colours.js";
import { _, number } from "./words.js";

Chart.register(PointWithErrorBar, ScatterWithErrorBarsController);

// Of each shape that a provider's record may name: Chart.js's style, its rotation, and the signs of the legend, the
// second of them for hollow points, which mark the second use of a colour.
const SHAPES = {
  circle: ["circle", 0, "●", "○"],
  square: ["rect", 0, "■", "□"],
  diamond: ["rectRot", 0, "◆", "◇"],
  star: [null, 0, "★", "☆"], // drawn by starPicture
  up: ["triangle", 0, "▲", "△"],
  down: ["triangle", 180, "▼", "▽"],
  left: ["triangle", 270, "◀", "◁"],
  right: ["triangle", 90, "▶", "▷"],
};
const FONT_SIZE = 11.5;
const STAR_RADIUS = 10;
const STEPS = [1, 2, 5];
const SQUARE_PX = 4;
const MOST_ROWS = 10_000;
const MAX_NAMED = 4; // points beside the first one that a tooltip names
const MANY = 15; // offers on the line, from which on their points are drawn smaller

const shapeOf = (provider) => SHAPES[providerShape(provider)];

/** The sign of a provider in legends. */
export function glyph(provider) {
  return shapeOf(provider)[isHollow(provider) ? 3 : 2];
}

// --- axes -------------------------------------------------------------------------------------

function niceStep(width) {
  const size = 10 ** Math.floor(Math.log10(width));
  return size * (STEPS.find((step) => step * size >= width) ?? 10);
}

// Round figures: powers of ten and their halves and fifths, or even steps within one decade.
function ticks({ min, max }) {
  const decades = Math.log10(max / min);
  const found = [];
  if (decades < 0.8) {
    const step = niceStep((max - min) / 6);
    for (let n = Math.ceil(min / step); n * step <= max; n += 1) found.push(n * step);
    return found;
  }
  const steps = decades < 4 ? STEPS : [1];
  for (let power = Math.floor(Math.log10(min)); 10 ** power <= max; power += 1) {
    found.push(...steps.map((step) => step * 10 ** power));
  }
  return found.filter((value) => value >= min && value <= max);
}

// All figures of an axis in one manner: K and M where it reaches far.
function shortFigure(value) {
  // Of the whole axis and not of one tick, so that all are written alike.
  const notation = this.max >= 1e5 ? "compact" : "standard";
  return number(Number(value.toPrecision(12)), { maximumSignificantDigits: 4, notation });
}

function axis(one, more) {
  return {
    type: "logarithmic",
    min: one.min,
    max: one.max,
    title: { display: true, text: one.label, font: { size: 12, weight: 500 } },
    border: { color: token("--line-strong") },
    grid: { drawTicks: false },
    ticks: { padding: 6, maxRotation: 0, autoSkipPadding: 14, callback: shortFigure },
    afterBuildTicks: (scale) => {
      scale.ticks = ticks(scale).map((value) => ({ value }));
    },
    ...more,
  };
}

// --- what is drawn ----------------------------------------------------------------------------

// Chart.js knows a star of lines only, which gets lost among filled points.
function starPicture(colour) {
  const picture = document.createElement("canvas");
  picture.width = picture.height = 2 * STAR_RADIUS + 2;
  const pen = picture.getContext("2d");
  pen.translate(STAR_RADIUS + 1, STAR_RADIUS + 1);
  pen.beginPath();
  for (let corner = 0; corner < 10; corner += 1) {
    const radius = corner % 2 ? STAR_RADIUS * 0.42 : STAR_RADIUS;
    const angle = (corner * Math.PI) / 5 - Math.PI / 2;
    pen.lineTo(radius * Math.cos(angle), radius * Math.sin(angle));
  }
  pen.closePath();
  pen.fillStyle = colour;
  pen.fill();
  pen.strokeStyle = token("--card");
  pen.stroke();
  return picture;
}

// One style for all points of a set: Chart.js then resolves it once and not for each of them.
function pointSet(points, provider, radius) {
  const { isFrontier } = points[0];
  const [pointStyle, rotation] = shapeOf(provider);
  const colour = providerColour(provider);
  const hollow = isHollow(provider);
  const ink = token("--ink");
  const bars = isFrontier ? ink : `${token("--muted")}80`;
  return {
    type: "scatterWithErrorBars",
    data: points.map((p) => ({ x: p.x, y: p.y, yMin: p.low ?? undefined, yMax: p.high ?? undefined, of: p })),
    pointStyle: pointStyle ?? starPicture(colour),
    rotation,
    backgroundColor: hollow ? token("--card") : isFrontier ? colour : `${colour}b3`,
    borderColor: hollow ? colour : isFrontier ? ink : token("--provider-edge"),
    borderWidth: hollow ? 2 : isFrontier ? 1.5 : 0.75,
    radius: isFrontier ? radius : 5,
    hoverRadius: 8,
    // Small points can be met by a finger.
    hitRadius: 5,
    errorBarColor: bars,
    errorBarWhiskerColor: bars,
    errorBarLineWidth: 1.25,
    errorBarWhiskerLineWidth: 1.25,
    errorBarWhiskerSize: 7,
    order: isFrontier ? 0 : 1, // above the others
  };
}

function dotSet(dots, style) {
  return { type: "scatter", data: dots.map((p) => ({ x: p.x, y: p.y, of: p })), hitRadius: 4, order: 3, ...style };
}

function dotSets(dots) {
  const within = grouped(dots.filter((p) => !p.isBeyond));
  const beyond = { backgroundColor: "transparent", borderColor: token("--line-strong"), radius: 3.5 };
  return [
    ...[...within].map(([provider, own]) =>
      dotSet(own, { backgroundColor: `${providerColour(provider)}99`, borderColor: "transparent", radius: 2.5 }),
    ),
    dotSet(
      dots.filter((p) => p.isBeyond),
      beyond,
    ),
  ];
}

// From the foot of the chart up to the first offer, then level until the next one, up to the budget.
function lineSet(data) {
  const foot = data.isHigherBetter ? data.y.min : data.y.max;
  const [first, last] = [data.line[0], data.line.at(-1)];
  const budgets = data.limits.filter((one) => one.axis === "x" && one.value >= last[0]).map((one) => one.value);
  const path = [[first[0], foot], ...data.line, [Math.min(data.x.max, ...budgets), last[1]]];
  return {
    type: "line",
    data: path.map(([x, y]) => ({ x, y })),
    stepped: "before",
    borderColor: token("--accent"),
    borderWidth: 1.75,
    pointRadius: 0,
    pointHitRadius: 0,
    order: 2,
  };
}

function datasets(data, hidden) {
  const shown = (one) => !hidden.has(one.provider);
  const points = [true, false].flatMap((isFrontier) => [
    ...grouped(data.points.filter((one) => shown(one) && one.isFrontier === isFrontier)),
  ]);
  return [
    ...points.map(([provider, own]) => pointSet(own, provider, data.line.length > MANY ? 5.5 : 7)),
    ...dotSets(data.dots.filter(shown)),
    ...(data.line.length ? [lineSet(data)] : []),
  ];
}

function grouped(points) {
  const found = new Map();
  for (const point of points) {
    if (!found.has(point.provider)) found.set(point.provider, []);
    found.get(point.provider).push(point);
  }
  return found;
}

// --- names of the offers on the line, and of one's own machines --------------------------------

function shortened(label, width) {
  const text = width < 600 ? label.split(" · ")[0] : label;
  const most = width < 600 ? 24 : 34;
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What is taken of the chart, in squares: a name that looks for space asks for its own, not for each of a thousand points. */
class TakenSpace {
  #squares = new Set();

  take({ x, y, width, height }) {
    for (let column = square(x); column <= square(x + width); column += 1)
      for (let row = square(y); row <= square(y + height); row += 1) this.#squares.add(column * MOST_ROWS + row);
  }

  isFree({ x, y, width, height }) {
    for (let column = square(x); column <= square(x + width); column += 1)
      for (let row = square(y); row <= square(y + height); row += 1)
        if (this.#squares.has(column * MOST_ROWS + row)) return false;
    return true;
  }
}

const square = (px) => Math.floor(px / SQUARE_PX);

// Nothing lies above and to the left of the line, so that is where the names stand; one that has
// no space there goes to where no point is, else it is left to the table.
function placed(width, { x, y }, area, taken) {
  const height = FONT_SIZE + 3;
  const left = Math.max(x - width - 9, area.left + 3);
  const right = Math.min(x + 11, area.right - width - 2);
  const boxes = [
    { x: left, y: y - height - 5 },
    { x: right, y: y + 6 },
    { x: left, y: y - 2 * height - 6 },
    { x: right, y: y + 8 + height },
  ].map((box) => ({ ...box, width, height }));
  return boxes.find((box) => box.y > area.top && box.y + height < area.bottom && taken.isFree(box));
}

const names = {
  id: "names",
  afterDatasetsDraw(chart) {
    const pen = chart.ctx;
    const taken = new TakenSpace();
    const all = chart.data.datasets.flatMap((set, n) =>
      set.data.map((raw, index) => [raw.of, chart.getDatasetMeta(n).data[index]]).filter(([of]) => of),
    );
    for (const [, { x, y }] of all) taken.take({ x: x - 4, y: y - 4, width: 8, height: 8 });
    pen.save();
    pen.font = `500 ${FONT_SIZE}px ${Chart.defaults.font.family}`;
    pen.textBaseline = "top";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = token("--card");
    pen.fillStyle = token("--ink");
    const labelled = all.filter(([of]) => of.isFrontier || of.isOwn).sort(([, a], [, b]) => b.x - a.x);
    for (const [{ label }, element] of labelled) {
      const text = shortened(label, chart.width);
      const box = placed(pen.measureText(text).width + 6, element, chart.chartArea, taken);
      if (!box) continue;
      taken.take(box);
      pen.strokeText(text, box.x, box.y + 1);
      pen.fillText(text, box.x, box.y + 1);
    }
    pen.restore();
  },
};

// --- the chart --------------------------------------------------------------------------------

/** The interval of a point in words. */
export function interval(point) {
  if (point.low === null || point.low === undefined) return _("no interval");
  return _("{low} to {high} (95%)", {
    low: point.isCut ? _("0 or less") : figure(point.low),
    high: figure(point.high),
  });
}

// Points of one spot share a tooltip: the first in full, the next ones by name, the rest counted.
function tooltip(data) {
  let stacked = [];
  return {
    filter: (item) => item.raw.of,
    callbacks: {
      title: (items) => {
        stacked = items.map(({ raw }) => raw.of);
        return stacked[0]?.label;
      },
      label: ({ raw: { of } }) => {
        const figures = [`${figure(of.x)} ${data.x.unit}`, `${figure(of.y)} ${data.y.unit}`];
        const place = stacked.indexOf(of);
        if (place > MAX_NAMED) return [];
        if (place > 0) return `${of.label}: ${figures.join(", ")}`;
        return [...figures, of.isBeyond ? _("beyond the limits") : interval(of), data.providers[of.provider]];
      },
      footer: () => (stacked.length > 1 ? _("+ {n} more at the same spot", { n: stacked.length - 1 }) : ""),
    },
  };
}

/** Draws the axes and limits; `onPick` gets the point that is clicked. Its points are drawn by `showPoints`. */
export function drawAxes(canvas, data, onPick) {
  applyTheme();
  const limits = data.limits.map((one) =>
    referenceLine(one.axis, one.value, one.label, one.axis === "x" ? "end" : "start"),
  );
  return new Chart(canvas, {
    type: "scatterWithErrorBars",
    data: { datasets: [] },
    options: {
      maintainAspectRatio: false,
      // Points come in the form that Chart.js draws, and there may be fifteen hundred.
      parsing: false,
      normalized: true,
      layout: { padding: { top: 20 } },
      onClick: (_, [item]) => {
        const offer = item?.element.$context.raw.of;
        if (offer) onPick(offer);
      },
      interaction: { mode: "nearest", intersect: true },
      scales: { x: axis(data.x), y: axis(data.y, { reverse: !data.isHigherBetter }) },
      plugins: {
        tooltip: tooltip(data),
        annotation: { clip: false, annotations: Object.fromEntries(limits.map((one, n) => [`limit${n}`, one])) },
      },
    },
    plugins: [names],
  });
}

/** Draws the points of the providers not hidden. */
export function showPoints(chart, data, hidden) {
  chart.data.datasets = datasets(data, hidden);
  drawApart(chart);
  chart.update();
}

export { figure };
