// Offer page: a strip of dots for each measured metric.
import { onThemeChange } from "../lib/base.js";
import { json } from "../lib/dom.js";

async function show(strips) {
  const { drawStrip } = await import("../lib/strip.js");
  let drawn = [];
  const draw = () => {
    for (const chart of drawn) chart.destroy();
    drawn = strips.map((strip) => drawStrip(document.getElementById(strip.id), strip));
  };
  draw();
  onThemeChange(draw);
}

if (document.getElementById("strips-json")) show(json("strips-json"));
