// Pages that print what is copied elsewhere: formulas, feeds, tokens.
import "../lib/base.js";
import { setUpCopyButtons } from "../lib/copy.js";

setUpCopyButtons();
