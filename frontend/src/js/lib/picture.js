// Saves a chart as a picture that carries its own title, filters, basis and date.
import { Chart } from "chart.js";
import { token } from "./colours.js";
import { withTexts } from "./png.js";

const SCALE = 2;
const MARGIN = 24;
const HEAD = 64;
const FOOT = 44;
const LINE = 20;

function atDoubleResolution(chart) {
  const before = chart.options.devicePixelRatio;
  // Twice the points of the page, so that it is sharp on paper and on slides.
  chart.options.devicePixelRatio = SCALE;
  chart.resize();
  const copy = document.createElement("canvas");
  copy.width = chart.canvas.width;
  copy.height = chart.canvas.height;
  copy.getContext("2d").drawImage(chart.canvas, 0, 0);
  chart.options.devicePixelRatio = before;
  chart.resize();
  return copy;
}

function write(pen, text, y, size, colour, weight = 400) {
  pen.font = `${weight} ${size}px ${Chart.defaults.font.family}`;
  pen.fillStyle = colour;
  pen.fillText(text, MARGIN, y, pen.canvas.width / SCALE - 2 * MARGIN);
}

// What the buttons of the figure's legend show: sign or swatch, colour and words of each.
function legendOf(canvas) {
  const buttons = canvas.closest("figure").querySelectorAll("button.legend[aria-pressed=true]");
  return [...buttons].map((button) => {
    const key = button.firstElementChild;
    const { color, backgroundColor, borderTopColor } = getComputedStyle(key);
    const isBare = backgroundColor === "rgba(0, 0, 0, 0)";
    const sign = key.textContent;
    const colour = sign ? color : isBare ? borderTopColor : backgroundColor;
    return { sign, colour, label: button.textContent.slice(sign.length).trim() };
  });
}

// Places the entries in as many lines as they need.
function laidOut(pen, entries, width) {
  let x = MARGIN;
  let line = 0;
  pen.font = `400 12px ${Chart.defaults.font.family}`;
  return entries.map((entry) => {
    const wide = pen.measureText(entry.label).width + 38;
    if (x > MARGIN && x + wide > width - MARGIN) [x, line] = [MARGIN, line + 1];
    x += wide;
    return { ...entry, x: x - wide, line };
  });
}

function drawEntry(pen, { sign, colour, label, x, line }) {
  const y = HEAD + line * LINE + 8;
  pen.fillStyle = colour;
  sign ? pen.fillText(sign, x, y) : pen.fillRect(x, y - 9, 11, 9);
  pen.fillStyle = token("--ink");
  pen.fillText(label, x + 17, y);
}

/**
 * Downloads the chart as `name`.png with its title, subtitle and footer lines drawn in; the file
 * also holds them, and the page's address, as text.
 */
export async function savePicture(chart, { name, title, subtitle, footer }) {
  const drawn = atDoubleResolution(chart);
  const page = document.createElement("canvas");
  const pen = page.getContext("2d");
  const entries = laidOut(pen, legendOf(chart.canvas), drawn.width / SCALE + 2 * MARGIN);
  const top = HEAD + (entries.length ? (entries.at(-1).line + 1) * LINE : 0);
  page.width = drawn.width + 2 * MARGIN * SCALE;
  page.height = drawn.height + (top + FOOT) * SCALE;
  pen.scale(SCALE, SCALE);
  pen.fillStyle = token("--card");
  pen.fillRect(0, 0, page.width, page.height);
  write(pen, title, 30, 17, token("--ink"), 600);
  write(pen, subtitle, 51, 12.5, token("--muted"));
  pen.font = `400 12px ${Chart.defaults.font.family}`;
  for (const entry of entries) drawEntry(pen, entry);
  pen.drawImage(drawn, MARGIN, top, drawn.width / SCALE, drawn.height / SCALE);
  write(pen, footer, page.height / SCALE - 16, 11.5, token("--muted"));
  const blob = await new Promise((made) => page.toBlob(made, "image/png"));
  const texts = { Title: title, Description: `${subtitle}. ${footer}`, Source: location.href, Software: "Rackrate" };
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await withTexts(blob, texts));
  link.download = `${name}.png`;
  link.click();
  // The download begins after the click; some browsers read the address later.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
