// Forms: only the fields of what is chosen show, and grey defaults are those of the chosen profile.
import "../lib/base.js";
import { followChoices } from "../lib/choices.js";
import { followProfile } from "../lib/defaults.js";
import "../lib/partial.js";
import { listWhatIsPicked } from "../lib/picks.js";

followChoices();
followProfile();
listWhatIsPicked(document.getElementById("offer"), document.getElementById("offers"));
