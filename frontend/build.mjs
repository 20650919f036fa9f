// Bundles the pages' scripts and styles into frontend/static/ (never committed).
// `node frontend/build.mjs` builds once; `--watch` rebuilds on every change.
import { build, context } from "esbuild";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "src");
const pages = readdirSync(join(source, "js", "pages"))
  .filter((name) => name.endsWith(".js"))
  .map((name) => join(source, "js", "pages", name));

const shared = {
  bundle: true,
  minify: true,
  target: ["es2022"],
  legalComments: "linked",
  logLevel: "warning",
  outdir: join(here, "static"),
  outbase: source,
};

const jobs = [
  // One module per page; what two pages share, and the chart code, become chunks of their own.
  { ...shared, entryPoints: pages, format: "esm", splitting: true, chunkNames: "js/chunks/[name]-[hash]" },
  // Runs before the first paint, so it is a plain script and not a module.
  { ...shared, entryPoints: [join(source, "js", "theme.js")], format: "iife" },
  { ...shared, entryPoints: [join(source, "css", "main.css"), join(source, "css", "print.css")] },
];

rmSync(shared.outdir, { recursive: true, force: true });
if (process.argv.includes("--watch")) {
  for (const job of jobs) await (await context(job)).watch();
} else {
  await Promise.all(jobs.map((job) => build(job)));
}
