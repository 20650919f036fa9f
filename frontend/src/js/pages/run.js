// Run page: the server's fragments replace each other until the run has finished, then its charts.
import "../lib/base.js";
import { showCharts } from "../lib/figures.js";
import { keepDetailsOpen, onEach } from "../lib/partial.js";

keepDetailsOpen();
onEach("progress", showCharts);
