/**
 * The first container of an app's pod: it fetches the files of the app's models into the account's home, and leaves in a
 * file what the runner is to load. Its arguments are the app's options as JSON, the app's name, and that file.
 */
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { type HubFetcher, HubWeights } from '../../cloud/apps/hub-weights.js';
import { WeightStore } from '../../cloud/apps/weights.js';
import { fetchModels } from '../../cloud/kubernetes/fetch-models.js';
import { ProcessLock } from '../../hub/process-lock.js';
import { dataDir } from '../data-dir.js';
import { DEMO_MODEL } from '../demo-model.js';
import { explainFailure } from '../explain-failure.js';
import { findLocally } from '../fetch-hub-model.js';
import { hubContext } from '../hub-context.js';

/** How often the log says how far it has come; `chasqui apps status` shows its last line. */
const TELL_MS = 2000;

let told = '';
let toldAt = 0;

const [options = '', app = '', file = ''] = process.argv.slice(2);
// As the first process of its container, it would not hear of this otherwise.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
try {
  await run();
  process.exit(0);
} catch (error) {
  console.error(`chasqui: ${explainFailure(error)}`);
  process.exit(1);
}

async function run(): Promise<void> {
  const hub = hubContext(undefined);
  const downloads = new HubWeights(hub.settings, null);
  const folder = path.join(dataDir(undefined), 'models');
  // Pods of one volume would fetch the same file twice, for which it may have no room.
  const lock = await ProcessLock.take(path.join(folder, 'fetch.lock'), new AbortController().signal, () =>
    tell('waiting for another pod that fetches', null),
  );
  removeParts(folder);
  // What is there is served as it is, so that a pod starts also where the hub cannot be reached.
  const fetcher: HubFetcher = {
    fetch: async (name, token, tell) => (await findLocally(hub, name))?.path ?? downloads.fetch(name, token, tell),
  };
  const models = await fetchModels(
    JSON.parse(options),
    app,
    {
      weights: new WeightStore(folder, DEMO_MODEL, fetcher),
      projectorOf: async (modelPath) => (await hub.library.find(modelPath))?.projector ?? null,
    },
    tell,
  );
  lock.release();
  await downloads.close();
  await hub.client.close();
  fs.writeFileSync(file, JSON.stringify(models));
  console.error(`The files of ${app} are here.`);
}

/** A line for each step, and within it now and then. */
function tell(what: string, fraction: number | null): void {
  if (what === told && (fraction === null || performance.now() - toldAt < TELL_MS)) return;
  told = what;
  toldAt = performance.now();
  console.error(fraction === null ? what : `${what} ${Math.floor(fraction * 100)} %`);
}

/** What pods that were killed left of a file; who has the lock is the only one that fetches. */
function removeParts(folder: string): void {
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.part')) fs.rmSync(path.join(folder, name), { force: true });
  }
}
