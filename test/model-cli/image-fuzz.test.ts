// Pictures with faults, by data URI and by address, to the real server: each ends in 200 or 400, and the server is as
// it was. CHASQUI_FUZZ_COUNT=10000 makes it long, CHASQUI_FUZZ_SEED another one.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeMemory } from '../../bench/soak/memory.js';
import { ServerProcess } from '../../bench/soak/server.js';
import { dataUri } from '../support/image-files.js';
import { type FuzzCase, fuzzCases } from '../support/image-fuzz.js';
import { type ImageServer, imageServer } from '../support/image-server.js';
import { nodeArguments } from '../support/node-arguments.mjs';

const COUNT = Number(process.env.CHASQUI_FUZZ_COUNT ?? 400);
const SEED = Number(process.env.CHASQUI_FUZZ_SEED ?? 1);
const AT_ONCE = 8;
/** More than any request takes; it only tells a hang from an answer. */
const HANG_MS = 120_000;
const MAX_SAMPLES = 250;
/** JavaScript's heap grows at first, whatever is asked. */
const WARM_UP = 0.4;

const CODES = new Set([
  'invalid_value',
  'invalid_image',
  'invalid_image_url',
  'image_too_large',
  'image_download_failed',
]);

const test = suite<{ server: ServerProcess; pictures: ImageServer; served: Map<string, Buffer> }>('cli: faulty images');

test.before(async (context) => {
  const served = new Map<string, Buffer>();
  context.served = served;
  context.pictures = await imageServer({
    '/fuzz': (request, response) => response.end(served.get(request.url ?? '')),
  });
  // Caches of this size are full long before the memory is compared.
  const args = ['serve', '--port', '0', '--image-cache-mb', '1', '--cache-ram', '1'];
  context.server = new ServerProcess(process.execPath, [...nodeArguments('ts/cli.ts'), ...args]);
  await context.server.untilItListens();
});

test.after(async ({ server, pictures }) => {
  server.kill();
  await pictures.close();
});

test(`${COUNT} of them, seed ${SEED}`, async ({ server, pictures, served }) => {
  const caseOf = await fuzzCases(SEED);
  const memory: number[] = [];
  const tally: Record<string, number> = {};
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < COUNT) {
      const index = next++;
      const fuzz = caseOf(index);
      const outcome = await ask(server, urlOf(fuzz, index)).catch((error) => `${error}`);
      served.delete(`/fuzz/${index}`);
      assert.match(
        outcome,
        /^(200|400) /,
        `case ${index} (${fuzz.story}): ${outcome}; ${server.end ?? ''} ${server.log}`,
      );
      tally[outcome] = (tally[outcome] ?? 0) + 1;
      const sample = server.memoryMiB();
      if (sample && index % Math.ceil(COUNT / MAX_SAMPLES) === 0) memory.push(sample);
    }
  };
  const urlOf = (fuzz: FuzzCase, index: number): string => {
    if (fuzz.uri !== undefined) return fuzz.uri;
    if (index % 5 > 0) return dataUri(fuzz.bytes, fuzz.mediaType);
    served.set(`/fuzz/${index}`, fuzz.bytes);
    return `${pictures.url}/fuzz/${index}`;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));

  const { text, grew } = judgeMemory(memory.slice(memory.length * WARM_UP));
  console.log(`${JSON.stringify(tally)}; ${text}`);
  assert.not.ok(grew, text);
  assert.ok((tally['200 '] ?? 0) > COUNT / 20, 'some faults leave a picture that can be seen');
  const health = await server.health();
  assert.equal([health.active, health.queued], [0, 0]);
  assert.not.match(server.log, /failed/);
  assert.is(await server.stop(30_000), 'exit code 0');
});

/** Status and, for a refusal, its code. */
async function ask(server: ServerProcess, url: string): Promise<string> {
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ];
  const reply = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chasqui-demo', max_tokens: 2, messages: [{ role: 'user', content }] }),
    signal: AbortSignal.timeout(HANG_MS),
  });
  const body = (await reply.json()) as { error?: { code: string; param: string | null; message: string } };
  if (!body.error) return `${reply.status} `;
  const { code, param, message } = body.error;
  const expected = CODES.has(code) && param === 'messages[0].content[1].image_url.url';
  return expected ? `${reply.status} ${code}` : `unexpected ${reply.status} ${code} ${param} ${message}`;
}

test.run();
