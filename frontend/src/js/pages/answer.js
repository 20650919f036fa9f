// First page: the picture beside the answer; a click on a point leads to its offer.
import { showFrontier } from "../lib/frontierchart.js";

if (document.getElementById("frontier")) {
  showFrontier(({ offer }) => location.assign(`/offers/${encodeURIComponent(offer)}/`));
}
