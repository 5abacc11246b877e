/** A program for tests of how a server stops: a fake engine that answers when told so by a line on standard input. */
import { buildApp } from '../../ts/http/app.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { stopOnSignals } from '../../ts/profiles/stop-on-signals.js';
import { FakeEngine } from './fake-engine.js';

const [drainMs, echoMs] = process.argv.slice(2).map(Number) as [number, number];
const engine = new FakeEngine({ manual: true });
const app = buildApp(engine, runtime, { drainMs });
process.stdin.on('data', () => engine.step());
stopOnSignals(
  () => app.close(),
  () => console.log('stopping'),
  echoMs,
);
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
