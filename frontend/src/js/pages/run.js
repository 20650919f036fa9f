// Run page: the server's fragments replace each other until the run has finished.
import "../lib/base.js";
import "../lib/partial.js";
