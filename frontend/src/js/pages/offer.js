// Offer page: a strip of dots for each measured metric, and its history.
import "../lib/base.js";
import { showCharts } from "../lib/figures.js";

showCharts();
