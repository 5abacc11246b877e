// Every endpoint is sent bodies that are hostile in one field, of a seed, while four streams run. The sender gets an answer or
// a refusal that names the field, and neither the engine nor what prepares requests has ended through any of them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { problemWith } from '../property/problem-with.js';
import { seededRandom } from '../support/seeded-random.js';
import type { Entry, Sender } from './entry.js';
import { HostileBodies, type HostileBody } from './hostile-fields.js';
import { type Exchange, send } from './send.js';
import { ServerUnderAttack } from './server-under-attack.js';

/** CHASQUI_HOSTILE_FIELDS=20000 and CHASQUI_HOSTILE_SEED=2 make it long, and another. */
const COUNT = Number(process.env.CHASQUI_HOSTILE_FIELDS ?? 1500);
const SEED = Number(process.env.CHASQUI_HOSTILE_SEED ?? 1);
const BATCH = 50;
const AT_ONCE = 4;
/** Some are completions of the whole context, which take their time on a machine that is busy. */
const ANSWER_MS = 60_000;
/** For all of them on a machine that is busy; what was not sent by then is told. */
const LIMIT_MS = 40 * COUNT;

interface Context {
  server: ServerUnderAttack;
  bodies: HostileBodies;
  statuses: Record<number, number>;
  began: number;
}

const test = suite<Context>('hostile: fields');

test.before(async (context) => {
  context.server = await ServerUnderAttack.start(['--ctx-size', '192', '--cache-ram', '32']);
  context.bodies = new HostileBodies(JSON.parse(await get(context.server.sender, '/openapi.json')));
  context.statuses = {};
  context.began = performance.now();
});
test.after(({ server }) => server?.kill());

async function get({ port }: Sender, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).text();
}

/** Throws for the first that is answered wrongly, or not at all. */
function batch(context: Context, from: number): Entry {
  const sendAll = async ({ port }: Sender): Promise<Exchange> => {
    let next = from;
    const work = async (): Promise<void> => {
      while (next < Math.min(from + BATCH, COUNT)) {
        const body = context.bodies.next(seededRandom(SEED * 1_000_003 + next++));
        const exchange = await send(port, body.path, body.text, ANSWER_MS);
        context.statuses[exchange.status] = (context.statuses[exchange.status] ?? 0) + 1;
        assert.is(problemOf(exchange, body), null);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { status: 200, text: '', ms: 0 };
  };
  return { name: `bodies from ${from}`, send: sendAll };
}

function problemOf({ status, text, type = '' }: Exchange, { path, about, text: sent }: HostileBody): string | null {
  const problem = problemWith(status, type, text);
  return problem && `${path}, ${about}: ${problem}: ${status} ${text.slice(0, 500)}\n  to ${sent.slice(0, 1000)}`;
}

test('there are hostile values for every endpoint', ({ bodies }) => {
  const seen = new Set(Array.from({ length: 1500 }, (_, index) => bodies.next(seededRandom(index)).path));
  assert.ok(bodies.paths.length > 25);
  assert.equal([...seen].sort(), [...bodies.paths].sort());
});

for (let from = 0; from < COUNT; from += BATCH) {
  test(`bodies ${from} to ${from + BATCH - 1} of seed ${SEED}`, async (context) => {
    if (performance.now() - context.began > LIMIT_MS) return;
    await context.server.suffer(batch(context, from));
  });
}

test('many were answered, more were refused, and no process was started again', async ({ server, statuses }) => {
  const sent = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  if (sent < COUNT) console.log(`${sent} of ${COUNT} bodies were sent in the time that there is.`);
  assert.ok(sent >= BATCH, 'some were sent');
  assert.ok((statuses[200] ?? 0) > sent / 20, JSON.stringify(statuses));
  assert.ok((statuses[400] ?? 0) > sent / 4, JSON.stringify(statuses));
  const metrics = await get(server.sender, '/metrics');
  const restarts = metrics.match(/^chasqui_(engine|preparation)_restarts_total\{.*/gm) ?? [];
  assert.ok(restarts.length >= 2, metrics);
  for (const line of restarts) assert.match(line, / 0$/);
});

test.run();
