// How far a load has come, by the bytes of all files that it reads.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadedShare } from '../../../ts/engine/model-files.js';

const test = suite('how far a load has come');
const folder = mkdtempSync(path.join(tmpdir(), 'chasqui-share-'));
test.after(() => rmSync(folder, { recursive: true }));

function fileOf(name: string, bytes: number): string {
  const file = path.join(folder, name);
  writeFileSync(file, Buffer.alloc(bytes));
  return file;
}

test('the model comes first, then what is loaded in silence, then the draft model', () => {
  const [model, projector, draft] = [fileOf('m.gguf', 500), fileOf('p.gguf', 300), fileOf('d.gguf', 200)];
  const share = loadedShare(model, { draft, silent: [projector] });
  assert.equal([0, 0.5, 1, 1.5, 2].map(share), [0, 0.25, 0.5, 0.9, 1]);
  const alone = loadedShare(model, { draft: undefined, silent: [] });
  assert.equal([0, 0.5, 1].map(alone), [0, 0.5, 1]);
});

test('files that are not there make no difference: their load says so', () => {
  const share = loadedShare(path.join(folder, 'none.gguf'), { draft: path.join(folder, 'no.gguf'), silent: [] });
  assert.equal([0, 1, 2].map(share), [0, 1, 1]);
});

test.run();
