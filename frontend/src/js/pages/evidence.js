// Evidence page: what was observed while the command ran.
import "../lib/base.js";
import { showCharts } from "../lib/figures.js";

showCharts();
