// Memory of servers with embedding and reranking models.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { writeEncoder } from '../support/random-model.js';
import { peakMemoryMiB } from './memory.js';
import { type Exchange, send } from './send.js';

/** A text of a megabyte, made into tokens and looked at, may take some hundred bytes for each of its own. */
const MAX_GROWTH_MIB = 400;
const ANSWER_MS = 10_000;
/** Thousands of tokens are work, and take their time. */
const WORK_MS = 90_000;
const CONTEXT = 4096;

interface Context {
  folder: string;
  child: Child;
  port: number;
}

const test = suite<Context>('hostile: vectors and scores');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hostile-'));
});
test.after.each(async ({ folder, child }) => {
  child.process.kill('SIGKILL');
  await child.exited;
  fs.rmSync(folder, { recursive: true });
});

async function serve(context: Context, model: string, ...args: string[]): Promise<void> {
  context.child = startChild('ts/cli.ts', [
    'serve',
    '--port',
    '0',
    '--alias',
    'm',
    '--threads',
    '1',
    '--model',
    model,
    ...args,
  ]);
  const [, port = ''] = await untilWritten(context.child, /^Serving .* at http:\S+:(\d+)\/v1$/m);
  context.port = Number(port);
}

async function post({ port }: Context, to: string, body: object, limitMs = ANSWER_MS): Promise<Exchange> {
  return send(port, to, JSON.stringify({ model: 'm', ...body }), limitMs);
}

/** How much the memory that it took at most has grown. */
async function growth({ child }: Context, action: () => Promise<void>): Promise<number> {
  const before = peakMemoryMiB(child.process.pid);
  await action();
  return peakMemoryMiB(child.process.pid) - before;
}

test('a long query beside two thousand documents', async (context) => {
  await serve(context, writeEncoder(path.join(context.folder, 'rank.gguf'), 'rank'));
  const documents = Array.from({ length: 2048 }, (_, i) => `${i}`);
  assert.is((await post(context, '/v1/rerank', { query: 'a', documents: documents.slice(0, 3) })).status, 200);
  const grown = await growth(context, async () => {
    const { status, text } = await post(context, '/v1/rerank', { query: 'sea '.repeat(250_000), documents });
    assert.ok(status >= 400 && status < 500, `${status}: ${text.slice(0, 200)}`);
  });
  assert.ok(grown < MAX_GROWTH_MIB, `${grown.toFixed(0)} MiB more`);
  assert.is((await post(context, '/v1/rerank', { query: 'a', documents: documents.slice(0, 3) })).status, 200);
});

test('a text as long as a large context', async (context) => {
  const model = writeEncoder(path.join(context.folder, 'm.gguf'), 'mean', false, CONTEXT);
  await serve(context, model);
  const grown = await growth(context, async () => {
    const { status, text } = await post(context, '/v1/embeddings', { input: 'sea '.repeat(CONTEXT - 100) }, WORK_MS);
    assert.is(status, 200, text.slice(0, 200));
  });
  assert.ok(grown < MAX_GROWTH_MIB, `${grown.toFixed(0)} MiB more`);
});

test.run();
