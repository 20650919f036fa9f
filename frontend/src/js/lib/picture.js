// Saves a chart as a picture that carries its own title, filters, basis and date.
import { Chart } from "chart.js";
import { token } from "./colours.js";

const SCALE = 2;
const MARGIN = 24;
const HEAD = 64;
const FOOT = 44;

function atDoubleResolution(chart) {
  const before = chart.options.devicePixelRatio;
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

/** Downloads the chart as `name`.png with its title, subtitle and footer lines drawn in. */
export function savePicture(chart, { name, title, subtitle, footer }) {
  const drawn = atDoubleResolution(chart);
  const page = document.createElement("canvas");
  page.width = drawn.width + 2 * MARGIN * SCALE;
  page.height = drawn.height + (HEAD + FOOT) * SCALE;
  const pen = page.getContext("2d");
  pen.scale(SCALE, SCALE);
  pen.fillStyle = token("--card");
  pen.fillRect(0, 0, page.width, page.height);
  write(pen, title, 30, 17, token("--ink"), 600);
  write(pen, subtitle, 51, 12.5, token("--muted"));
  pen.drawImage(drawn, MARGIN, HEAD, drawn.width / SCALE, drawn.height / SCALE);
  write(pen, footer, page.height / SCALE - 16, 11.5, token("--muted"));
  page.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}
