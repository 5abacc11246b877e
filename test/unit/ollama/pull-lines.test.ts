// The progress of a download in the lines of Ollama's API.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PullLines } from '../../../ts/api/ollama/library/stream.js';

const digests = ['a'.repeat(64), 'b'.repeat(64)];
const files = (...completed: number[]) =>
  completed.map((completedBytes, index) => ({ digest: digests[index] as string, totalBytes: 100, completedBytes }));

test('each file is told of by its digest, and only when there is more of it', () => {
  const lines = new PullLines();
  assert.equal(lines.begin(), [{ status: 'pulling manifest' }]);
  assert.equal(lines.next({ files: files(10, 0), isVerifying: false }), [
    { status: 'pulling aaaaaaaaaaaa', digest: `sha256:${digests[0]}`, total: 100, completed: 10 },
    { status: 'pulling bbbbbbbbbbbb', digest: `sha256:${digests[1]}`, total: 100, completed: 0 },
  ]);
  assert.equal(lines.next({ files: files(10, 0), isVerifying: false }), []);
  assert.equal(
    lines.next({ files: files(10, 5), isVerifying: false }).map(({ completed }) => completed),
    [5],
  );
});

test('it is said once for each file that its digest is compared', () => {
  const lines = new PullLines();
  const told = [
    { files: files(100, 0), isVerifying: true },
    { files: files(100, 0), isVerifying: true },
    { files: files(100, 50), isVerifying: false },
    { files: files(100, 100), isVerifying: true },
  ].flatMap((progress) => lines.next(progress).map(({ status }) => status));
  assert.equal(
    told.filter((status) => status.startsWith('verifying')),
    ['verifying sha256 digest', 'verifying sha256 digest'],
  );
  assert.equal(lines.end().at(-1), { status: 'success' });
});

test.run();
