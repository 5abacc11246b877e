// Hostile requests to a real server with the demo model, one after another, beside four streams. A crashed server is
// restarted, so each request is judged separately.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Entry } from './entry.js';
import { GRAMMARS, INPUTS, SCHEMAS } from './grammar-entries.js';
import { BODIES, BROKEN_HTTP } from './http-entries.js';
import { ODD_REQUESTS } from './odd-requests.js';
import { PREPARING, RUNS_IN_MESSAGES, TOKENIZED_RUNS } from './prepare-entries.js';
import { ServerUnderAttack } from './server-under-attack.js';

/** JavaScript's heap, the allocator's arenas and the cache of conversations, which is not the requests' doing. */
const MEMORY_MARGIN_MIB = 300;
const SETTLING_MS = 30_000;

const test = suite<{ server: ServerUnderAttack | null; restarts: number }>('hostile: the demo model');

test.before((context) => {
  context.server = null;
  context.restarts = 0;
});
test.after(({ server }) => server?.kill());

async function suffer(context: { server: ServerUnderAttack | null; restarts: number }, entry: Entry): Promise<void> {
  context.server ??= await ServerUnderAttack.start(['--cache-ram', '32']);
  const { server } = context;
  try {
    await server.suffer(entry);
  } catch (error) {
    context.server = null;
    context.restarts += 1;
    await server.kill();
    throw error;
  }
}

for (const entry of [
  ...GRAMMARS,
  ...INPUTS,
  ...SCHEMAS,
  ...TOKENIZED_RUNS,
  ...RUNS_IN_MESSAGES,
  ...PREPARING,
  ...BROKEN_HTTP,
  ...ODD_REQUESTS,
  ...BODIES,
]) {
  test(entry.name, (context) => suffer(context, entry));
}

test('memory comes back after large bodies', async (context) => {
  await suffer(context, { name: 'none', send: (sender) => sender.chat({}) });
  const before = context.server?.memoryMiB() ?? 0;
  for (const entry of BODIES) await suffer(context, entry);
  const deadline = performance.now() + SETTLING_MS;
  let after = Number.POSITIVE_INFINITY;
  while (after > before + MEMORY_MARGIN_MIB && performance.now() < deadline) {
    await context.server?.sender.chat({ max_tokens: 1 });
    after = context.server?.memoryMiB() ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.ok(after <= before + MEMORY_MARGIN_MIB, `${after.toFixed(0)} MiB, ${before.toFixed(0)} before`);
});

test('SIGTERM ends it while streams run and grammars are at work', async (context) => {
  const server = context.server ?? (await ServerUnderAttack.start([]));
  context.server = null;
  const atWork = [...GRAMMARS.slice(0, 3), ...SCHEMAS.slice(0, 1)].map((entry) => entry.send(server.sender));
  await new Promise((resolve) => setTimeout(resolve, 500));
  await server.stop();
  await Promise.all(atWork);
});

test.run();
