// Bundles the pages' scripts and styles into frontend/static/, and compiles their translations into
// frontend/locale/ (neither is committed).
// `node frontend/build.mjs` builds once; `--watch` rebuilds on every change.
import { build, context } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mo, po } from "gettext-parser";

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
  // Named without a code, so that pages can ask for them early; the web server's own names have one.
  loader: { ".woff2": "file" },
  assetNames: "fonts/[name]",
};

const jobs = [
  // One module per page; what two pages share, and the chart code, become chunks of their own.
  { ...shared, entryPoints: pages, format: "esm", splitting: true, chunkNames: "js/chunks/[name]-[hash]" },
  // Runs before the first paint, so it is a plain script and not a module.
  { ...shared, entryPoints: [join(source, "js", "theme.js")], format: "iife" },
  { ...shared, entryPoints: [join(source, "css", "main.css"), join(source, "css", "print.css")] },
];

rmSync(shared.outdir, { recursive: true, force: true });
mkdirSync(join(shared.outdir, "js"), { recursive: true });
mkdirSync(join(shared.outdir, "fonts"));
// The licence of a typeface goes with it.
const typeface = join(here, "..", "node_modules", "@fontsource-variable", "inter");
copyFileSync(join(typeface, "LICENSE"), join(shared.outdir, "fonts", "LICENSE.txt"));
const catalogues = join(here, "locale");
rmSync(catalogues, { recursive: true, force: true });
for (const name of readdirSync(join(source, "locale")).filter((name) => name.endsWith(".po"))) {
  const folder = join(catalogues, basename(name, ".po"), "LC_MESSAGES");
  mkdirSync(folder, { recursive: true });
  const catalogue = po.parse(readFileSync(join(source, "locale", name)));
  writeFileSync(join(folder, "django.mo"), mo.compile(catalogue));
  const own = Object.values(catalogue.translations[""]).filter((one) => one.comments?.reference?.includes("src/js/"));
  const texts = Object.fromEntries(own.map((one) => [one.msgid, one.msgstr[0]]));
  const script = `globalThis.catalogue=${JSON.stringify(texts)}`;
  writeFileSync(join(shared.outdir, "js", `texts-${basename(name, ".po")}.js`), script);
}
if (process.argv.includes("--watch")) {
  for (const job of jobs) await (await context(job)).watch();
} else {
  await Promise.all(jobs.map((job) => build(job)));
}
