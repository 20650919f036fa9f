// Every repeat of a metric as a dot, with the median and its interval behind them.
import { applyTheme, Chart, figure, referenceLine } from "./chartkit.js";
import { providerColour, token } from "./colours.js";

function band(strip) {
  if (strip.low === null) return {};
  return {
    interval: {
      type: "box",
      xMin: strip.low,
      xMax: strip.high,
      backgroundColor: token("--band"),
      borderWidth: 0,
      drawTime: "beforeDatasetsDraw",
    },
  };
}

function range(strip) {
  const values = [...strip.points.map((p) => p.x), strip.low, strip.high].filter((v) => v !== null);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || high * 0.02 || 1) * 0.12;
  // Dots, not bars: what matters is how they scatter, so the axis does not begin at zero.
  return { suggestedMin: Math.max(0, low - margin), suggestedMax: high + margin };
}

/** Draws one strip: a row of dots for each run. */
export function drawStrip(canvas, strip) {
  applyTheme();
  const median = strip.median === null ? {} : { median: referenceLine("x", strip.median, "") };
  return new Chart(canvas, {
    type: "scatter",
    data: {
      datasets: [
        {
          data: strip.points,
          backgroundColor: strip.points.map((p) => (p.isDisturbed ? token("--card") : providerColour(strip.provider))),
          borderColor: token("--provider-edge"),
          borderWidth: 1.25,
          pointRadius: 5,
          pointHoverRadius: 6,
        },
      ],
    },
    options: {
      maintainAspectRatio: false,
      scales: {
        x: { ...range(strip), title: { display: true, text: strip.unit }, ticks: { maxTicksLimit: 8 } },
        y: { min: -0.6, max: strip.rows - 0.4, reverse: true, display: false },
      },
      plugins: {
        annotation: { annotations: { ...band(strip), ...median } },
        tooltip: {
          callbacks: {
            label: (item) => {
              const point = strip.points[item.dataIndex];
              return [`${figure(point.x)} ${strip.unit}`, point.label];
            },
          },
        },
      },
    },
  });
}
