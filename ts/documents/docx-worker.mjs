// A thread that reads the text of one Word file and ends. Plain JavaScript, like pdf-worker.mjs.
import { parentPort, workerData } from 'node:worker_threads';
import { inflateRawSync } from 'node:zlib';

const { data, maxCharacters } = workerData;
const bytes = Buffer.from(data);

/** The text of a document may be a small part of its markup. */
const MAX_MARKUP_BYTES = 64 * 2 ** 20;
const END_OF_DIRECTORY = Buffer.from('PK\x05\x06', 'latin1');
const ENTRY = 0x02014b50;
const STORED = 0;
const DEFLATED = 8;

/** Reads an entry of a ZIP file. Throws if it does not exist or exceeds the limit, or if the file is damaged. */
function readEntry(name) {
  const end = bytes.lastIndexOf(END_OF_DIRECTORY);
  let count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  for (; count > 0 && bytes.readUInt32LE(at) === ENTRY; count -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    if (bytes.toString('utf8', at + 46, at + 46 + nameLength) === name) return inflate(at);
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`no ${name}`);
}

function inflate(entry) {
  const method = bytes.readUInt16LE(entry + 10);
  const size = bytes.readUInt32LE(entry + 20);
  const local = bytes.readUInt32LE(entry + 42);
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const content = bytes.subarray(start, start + size);
  if (method === DEFLATED) return inflateRawSync(content, { maxOutputLength: MAX_MARKUP_BYTES });
  if (method === STORED) return content;
  throw new Error(`unknown compression ${method}`);
}

const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decode(text) {
  return text.replace(/&(?:#(x?)([0-9a-f]{1,6})|(lt|gt|amp|quot|apos));/gi, (whole, hex, digits, name) => {
    if (name) return ENTITIES[name.toLowerCase()];
    const code = Number.parseInt(digits, hex ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Ends of paragraphs and cells, breaks, and runs of text; deleted text has another name. */
const MARKUP = /<w:(tab|br|cr)(?:\s[^<>]*)?\/>|<\/w:(p|tc)>|<w:t(?:\s[^<>]*)?>([^<]*)<\/w:t>/g;

let text = '';
for (const [, single, end, run] of readEntry('word/document.xml').toString().matchAll(MARKUP)) {
  if (run !== undefined) text += decode(run);
  else text += single === 'tab' || end === 'tc' ? '\t' : '\n';
  if (text.length > maxCharacters) break;
}
// The end of a paragraph in a cell is no line of its own.
text = text.replaceAll('\n\t', '\t').replace(/\t\n/g, '\n').trim();
parentPort.postMessage({ text: text.slice(0, maxCharacters), isWhole: text.length <= maxCharacters });
