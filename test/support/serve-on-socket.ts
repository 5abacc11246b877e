/** A program: the demo model in an engine's process of its own, behind a server on the socket that is its argument. */
import process from 'node:process';
import { buildApp } from '../../ts/api/app.js';
import { SupervisedEngine } from '../../ts/engine/child/supervised-engine.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from './demo-model.js';
import { ENDLESS_CONTEXT } from './long-answer.js';

const [, , socketPath = ''] = process.argv;
const engine = await SupervisedEngine.open(demoModelPath, { parallel: 4, contextSize: ENDLESS_CONTEXT }, {});
const app = buildApp(ManagedPool.of(engine), runtime, {});
process.once('SIGTERM', async () => {
  await app.close();
  await engine.close();
  process.exit();
});
await app.listen({ path: socketPath });
console.log('listening');
