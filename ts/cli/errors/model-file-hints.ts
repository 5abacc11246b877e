/** Identifies files that are not models, and suggests the intended model file. */
import fs from 'node:fs';
import path from 'node:path';
import { ggufFilesIn } from '../../engine/model-files.js';
import { ownCall } from '../../own-call.js';
import { nearestNames } from './nearest-names.js';

const HEAD_BYTES = 512;
/** Limit for the files named in a message. */
const MAX_NAMED = 3;

const FIND_GGUF = `${ownCall()} search finds models in GGUF files`;

interface Kind {
  is(head: Buffer, size: number): boolean;
  says: string;
}

/** The first match wins. */
const KINDS: readonly Kind[] = [
  { is: (_head, size) => size === 0, says: 'It is empty, like a download that never started.' },
  {
    is: (head) => beginsWith(head, 'version https://git-lfs'),
    says: 'It is a Git LFS pointer: run git lfs pull to download the file.',
  },
  {
    is: (head) => /^\s*<(!doctype|html|head|\?xml)/i.test(head.toString('latin1')),
    says: 'It is a web page: download the file from the address with /resolve/ instead of /blob/.',
  },
  {
    is: (head, size) => head.length > 8 && head.readBigUInt64LE(0) < size && head[8] === 0x7b,
    says: `It is in safetensors format, which chasqui does not support; ${FIND_GGUF}.`,
  },
  {
    is: (head) => beginsWith(head, 'PK\x03\x04'),
    says: `It is a ZIP archive, as models for PyTorch are; ${FIND_GGUF}.`,
  },
  {
    is: (head) => /^(lmgg|fmgg|tjgg|algg)/.test(head.toString('latin1')),
    says: `It is in a format older than GGUF, which llama.cpp no longer supports; ${FIND_GGUF}.`,
  },
  { is: (head) => beginsWith(head, '\x1f\x8b'), says: 'It is compressed: gunzip unpacks it.' },
  { is: (head) => /^\s*[{[]/.test(head.toString('latin1')), says: 'It is JSON, not a model file.' },
  {
    is: (head) => head.every((byte) => byte === 0),
    says: 'It begins with zeros, like an incomplete download.',
  },
];

/** Describes a file or folder that is not a model; `undefined` if its kind is unknown. */
export function describeFile(file: string): string | undefined {
  try {
    const stat = fs.statSync(file);
    if (stat.isDirectory()) return describeFolder(file);
    // Reading a pipe would block until another process writes to it.
    if (!stat.isFile()) return undefined;
    const { head, size } = readHead(file);
    return KINDS.find(({ is }) => is(head, size))?.says;
  } catch {
    return undefined;
  }
}

/** For a missing file, suggests files with similar names in its folder, or lists the models there. */
export function suggestNearbyFile(file: string): string | undefined {
  const folder = path.dirname(file);
  const models = modelsIn(folder);
  if (models === undefined) return fs.existsSync(folder) ? undefined : `The folder ${folder} does not exist either.`;
  const near = nearestNames(path.basename(file), models);
  if (near.length > 0) return `Did you mean ${listed(near.map((name) => path.join(folder, name)))}?`;
  return models.length > 0 ? `In ${folder} there are ${listed(models)}.` : undefined;
}

function describeFolder(folder: string): string | undefined {
  const models = modelsIn(folder) ?? [];
  if (models.length === 0) return 'It contains no models.';
  const one = models.length === 1 ? 'It contains one model' : `It contains ${models.length} models`;
  return `${one}: ${listed(models.map((name) => path.join(folder, name)))}. --models-dir serves all models of a folder.`;
}

/** Returns `undefined` if the folder cannot be read. */
function modelsIn(folder: string): string[] | undefined {
  try {
    return ggufFilesIn(folder).files;
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
