// Colours come from the style sheet, so that chart, legend and table agree in both themes.

/** Value of a custom property in the current theme. */
export function token(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Fill of a provider's bars: its colour, hatched where the colour is a second use. */
export function providerFill(slug, context) {
  const colour = providerColour(slug);
  return isHollow(slug) && hasColour(slug) ? hatch(colour, context) : colour;
}

const hasColour = (slug) => token(`--provider-${slug}`) !== "";

/** Shape of a provider's points; that of the providers without a colour is a circle. */
export function providerShape(slug) {
  return token(`--provider-${slug}-shape`) || "circle";
}

/** Whether the points are hollow: a second use of a colour, or no colour of its own. */
export function isHollow(slug) {
  return token(`--provider-${slug}-hollow`) === "1" || !hasColour(slug);
}

/** Colour bound to the provider, whatever else is shown. */
export function providerColour(slug) {
  return token(`--provider-${slug}`) || token("--provider-other");
}

function hatch(colour, context) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = token("--card");
  pen.lineWidth = 2;
  pen.beginPath();
  for (const x of [-4, 4, 12]) {
    pen.moveTo(x - 4, 8);
    pen.lineTo(x + 4, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
