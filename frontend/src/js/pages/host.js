// Host page: the key's part follows a scan, the run form its profile, and the history is drawn.
import "../lib/base.js";
import { setUpCopyButtons } from "../lib/copy.js";
import { followProfile } from "../lib/defaults.js";
import { showCharts } from "../lib/figures.js";
import "../lib/partial.js";

setUpCopyButtons();
followProfile();
showCharts();
