/**
 * Measures the CPU time of one request in each process of the server, separately for the JavaScript thread and the other
 * threads. Requests, model and settings are those of the row `200-clients` of bench:peers.
 *
 *     node --import tsx bench/request-cost.ts [--cli dist/cli.js] [--rounds 5] [--clients 200]
 *
 * Linux only. On a busy machine the waiting of compute threads counts partly as CPU time, so compare two builds alternately;
 * `--cli` names the build of another clone.
 */
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../test/support/places.js';
import { processTree } from '../test/support/process-tree.js';
import { syntheticModel } from '../test/support/synthetic-model.js';
import { logsFolder } from './peers/places.js';
import { manyClients } from './peers/scenarios/many-clients.js';
import { startServer } from './subjects/running-server.js';
import { median } from './work.js';

const { values } = parseArgs({
  options: {
    cli: { type: 'string', default: path.join(root, 'dist', 'cli.js') },
    rounds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '200' },
  },
});
const clients = Number(values.clients);
const settings = ['--parallel', '8', '--ctx-size', '1024', '--threads', '2', '--alias', 'bench'];

/** CPU milliseconds so far, by the script of the process and by main thread or other threads. */
function processorTimes(server: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const pid of processTree(server)) {
    const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const script = path.basename(words.find((word) => word.endsWith('.js')) ?? words[0] ?? '');
    for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
      const name = `${script}, ${thread === String(pid) ? 'JavaScript' : 'other threads'}`;
      const nanoseconds = fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0];
      times.set(name, (times.get(name) ?? 0) + Number(nanoseconds) / 1e6);
    }
  }
  return times;
}

fs.mkdirSync(logsFolder, { recursive: true });
// The tiny model is not quantized, so llama-quantize is not needed.
const args = [values.cli, 'serve', '--model', syntheticModel('tiny', ''), ...settings];
const log = path.join(logsFolder, 'request-cost.log');
const server = await startServer({ name: 'chasqui', command: process.execPath, args, log });
const run = manyClients({ clients, systems: 4 });
await run(server, 0, 0);
const samples: Map<string, number>[] = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  const before = processorTimes(server.pid);
  await run(server, round, 0);
  const after = processorTimes(server.pid);
  samples.push(new Map([...after].map(([name, time]) => [name, (time - (before.get(name) ?? 0)) / clients])));
}
for (const name of samples[0]?.keys() ?? []) {
  const perRequest = median(samples.map((sample) => sample.get(name) ?? 0));
  console.log(`${name.padEnd(36)} ${perRequest.toFixed(2)} ms`);
}
await server.close();
