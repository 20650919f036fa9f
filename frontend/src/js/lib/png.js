// Text inside a PNG: chunks of type tEXt right after its header.

const SIGNATURE_AND_HEADER = 33; // 8 bytes, then the IHDR chunk of 25
const BEYOND_LATIN = /[^\x20-\x7e\xa1-\xff]/g;
const SPELT = { "≥": ">=", "≤": "<=", "≠": "not", "–": "-", "−": "-", "…": "..." };

const TABLE = Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// The standard allows Latin-1 only; what is beyond it is spelt out, or becomes a question mark.
function chunk(keyword, text) {
  const typed = `tEXt${keyword}\0${text.replace(BEYOND_LATIN, (letter) => SPELT[letter] ?? "?")}`;
  const body = Uint8Array.from(typed, (letter) => letter.charCodeAt(0));
  const made = new Uint8Array(body.length + 8);
  const view = new DataView(made.buffer);
  view.setUint32(0, body.length - 4);
  made.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return made;
}

/** The picture with texts by keyword, as a new blob. */
export async function withTexts(blob, texts) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const chunks = Object.entries(texts).map(([keyword, text]) => chunk(keyword, text));
  const parts = [bytes.subarray(0, SIGNATURE_AND_HEADER), ...chunks, bytes.subarray(SIGNATURE_AND_HEADER)];
  return new Blob(parts, { type: "image/png" });
}
