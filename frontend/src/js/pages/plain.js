// Pages without parts of their own.
import "../lib/base.js";
