// Pages whose parts the server replaces while something goes on.
import "../lib/base.js";
import { followChoices } from "../lib/choices.js";
import { keepDetailsOpen } from "../lib/partial.js";

followChoices();
keepDetailsOpen();
