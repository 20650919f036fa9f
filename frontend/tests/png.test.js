import assert from "node:assert/strict";
import test from "node:test";
import { withTexts } from "../src/js/lib/png.js";

const HEAD = Uint8Array.from({ length: 33 }, (_, n) => n);
const REST = Uint8Array.of(201, 202, 203);

async function chunksOf(texts) {
  const blob = await withTexts(new Blob([HEAD, REST]), texts);
  assert.equal(blob.type, "image/png");
  const bytes = Buffer.from(await blob.arrayBuffer());
  assert.deepEqual(bytes.subarray(0, 33), Buffer.from(HEAD));
  assert.deepEqual(bytes.subarray(-3), Buffer.from(REST));
  return bytes.subarray(33, -3);
}

test("a text is a chunk with its length, keyword and checksum, in Latin-1", async () => {
  // Made with Python's struct and zlib.crc32; ≥ is spelt out, what has no spelling becomes a question mark.
  const expected = "00000011744558745469746c65003130203e3d2039203f20e926476f3a";
  assert.equal((await chunksOf({ Title: "10 ≥ 9 € é" })).toString("hex"), expected);
});

test("texts follow each other in their order", async () => {
  const bytes = await chunksOf({ Title: "a", Source: "b" });
  assert.match(bytes.toString("latin1"), /tEXtTitle\0a.{8}tEXtSource\0b/s);
});

test("a picture without texts stays as it is", async () => {
  assert.equal((await chunksOf({})).length, 0);
});
