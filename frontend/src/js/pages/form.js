// Form of a campaign: the defaults shown are those of the profile chosen.
import "../lib/base.js";
import { followProfile } from "../lib/defaults.js";

followProfile();
