/** A program for tests of how a server stops: a fake engine that answers when told so by a line on standard input. */
import { buildApp } from '../../ts/api/app.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { closeServer } from '../../ts/server/close-server.js';
import { stopOnSignals } from '../../ts/server/stop-on-signals.js';
import { FakeEngine } from './fake-engine.js';

const [drain, echo, hardStop = '60000', stuck] = process.argv.slice(2);
const [drainMs, echoMs, hardStopMs] = [drain, echo, hardStop].map(Number) as [number, number, number];
const engine = new FakeEngine({ manual: true });
const pool = ManagedPool.of(engine);
const app = buildApp(pool, runtime, { drainMs });
process.stdin.on('data', () => engine.step());
// As an engine that stands still: closing it never ends, and neither does what waits for its thread on exit.
if (stuck === 'stuck') {
  engine.close = () => new Promise(() => setInterval(() => undefined, 1000));
  process.on('exit', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
}
if (stuck === 'failed') engine.state = 'failed';
stopOnSignals(
  () => closeServer({ app, pool, keys: null }),
  () => console.log('stopping'),
  { echoMs, hardStopMs },
);
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
