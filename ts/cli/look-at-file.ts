/** What a file is that is no model, and where the one is that was probably meant. */
import fs from 'node:fs';
import path from 'node:path';
import { nearestNames } from './nearest-names.js';

/** As much as is looked at of a file. */
const HEAD_BYTES = 512;
/** Of a folder's files, these many at most are looked at, and these are named. */
const MAX_FILES = 10_000;
const MAX_NAMED = 3;

const FIND_GGUF = 'chasqui search finds models in GGUF files';

interface Kind {
  is(head: Buffer, size: number): boolean;
  says: string;
}

/** The first that fits counts. */
const KINDS: readonly Kind[] = [
  { is: (_head, size) => size === 0, says: 'It is empty, as a download is that never began.' },
  {
    is: (head) => beginsWith(head, 'version https://git-lfs'),
    says: 'It is a pointer of Git LFS that stands for the file: git lfs pull brings the file itself.',
  },
  {
    is: (head) => /^\s*<(!doctype|html|head|\?xml)/i.test(head.toString('latin1')),
    says: 'It is a web page; the address of a file at the hub has /resolve/ where that of its page has /blob/.',
  },
  {
    is: (head, size) => head.length > 8 && head.readBigUInt64LE(0) < size && head[8] === 0x7b,
    says: `It is in safetensors format, for other programs; ${FIND_GGUF}.`,
  },
  {
    is: (head) => beginsWith(head, 'PK\x03\x04'),
    says: `It is a ZIP archive, as models for PyTorch are; ${FIND_GGUF}.`,
  },
  {
    is: (head) => /^(lmgg|fmgg|tjgg|algg)/.test(head.toString('latin1')),
    says: `It is in a format from before GGUF, which llama.cpp reads no more; ${FIND_GGUF}.`,
  },
  { is: (head) => beginsWith(head, '\x1f\x8b'), says: 'It is compressed: gunzip unpacks it.' },
  { is: (head) => /^\s*[{[]/.test(head.toString('latin1')), says: 'It is JSON, and not the weights of a model.' },
  {
    is: (head) => head.every((byte) => byte === 0),
    says: 'It begins with zeros, as a download does that was cut off.',
  },
];

/** A sentence or two about a file or folder that is no model; `undefined`: there is nothing more to say. */
export function lookAtFile(file: string): string | undefined {
  try {
    const stat = fs.statSync(file);
    if (stat.isDirectory()) return lookIntoFolder(file);
    // A pipe would not let anyone look at it before somebody writes.
    if (!stat.isFile()) return undefined;
    const { head, size } = readHead(file);
    return KINDS.find(({ is }) => is(head, size))?.says;
  } catch {
    return undefined;
  }
}

/** Where there is no such file: those beside it that are called alike, or the models there. */
export function lookBeside(file: string): string | undefined {
  const folder = path.dirname(file);
  const models = modelsIn(folder);
  if (models === undefined) return fs.existsSync(folder) ? undefined : `There is no folder ${folder} either.`;
  const near = nearestNames(path.basename(file), models);
  if (near.length > 0) return `Did you mean ${listed(near.map((name) => path.join(folder, name)))}?`;
  return models.length > 0 ? `In ${folder} there are ${listed(models)}.` : undefined;
}

function lookIntoFolder(folder: string): string | undefined {
  const models = modelsIn(folder) ?? [];
  if (models.length === 0) return 'There is none in it.';
  const one = models.length === 1 ? 'There is one' : `There are ${models.length}`;
  return `${one}: ${listed(models.map((name) => path.join(folder, name)))}. All of a folder are served by --models-dir.`;
}

/** `undefined`: the folder cannot be read. */
function modelsIn(folder: string): string[] | undefined {
  try {
    const names = fs.readdirSync(folder).slice(0, MAX_FILES);
    return names.filter((name) => /\.gguf$/i.test(name)).sort();
  } catch {
    return undefined;
  }
}

function listed(names: readonly string[]): string {
  const others = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

function beginsWith(head: Buffer, text: string): boolean {
  return head.toString('latin1').startsWith(text);
}

function readHead(file: string): { head: Buffer; size: number } {
  const opened = fs.openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(HEAD_BYTES);
    const read = fs.readSync(opened, buffer, 0, HEAD_BYTES, 0);
    return { head: buffer.subarray(0, read), size: fs.fstatSync(opened).size };
  } finally {
    fs.closeSync(opened);
  }
}
