/**
 * The init container of an app's pod: downloads the app's models to the home folder, and writes the model list for the
 * runner to a file. Arguments: the app's options as JSON, the app's name, and the path of that file.
 */
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { type HubFetcher, HubWeights } from '../../cloud/apps/hub-weights.js';
import { WeightStore } from '../../cloud/apps/weights.js';
import { fetchModels } from '../../cloud/kubernetes/fetch-models.js';
import { DEMO_MODEL, dataDir } from '../../hub/data-folder.js';
import { ProcessLock } from '../../hub/process-lock.js';
import { explainFailure } from '../errors/explain-failure.js';
import { hubContext } from '../hub/hub-context.js';

/** Interval of progress lines in the log; `chasqui apps status` shows the last one. */
const TELL_MS = 2000;

let told = '';
let toldAt = 0;

const [options = '', app = '', file = ''] = process.argv.slice(2);
// PID 1 of a container ignores signals without a handler.
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
  // The lock prevents pods that share a volume from downloading the same file twice.
  const lock = await ProcessLock.take(path.join(folder, 'fetch.lock'), new AbortController().signal, () =>
    tell('waiting for the download of another pod', null),
  );
  removeParts(folder);
  // Use existing files without asking the hub, so that a pod can start while the hub is unreachable.
  const fetcher: HubFetcher = {
    fetch: async (name, token, tell) => (await hub.library.findOfHub(name))?.path ?? downloads.fetch(name, token, tell),
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
  console.error(`Downloaded the files of ${app}.`);
}

/** Prints one line per step, and one per interval within a step. */
function tell(what: string, fraction: number | null): void {
  if (what === told && (fraction === null || performance.now() - toldAt < TELL_MS)) return;
  told = what;
  toldAt = performance.now();
  console.error(fraction === null ? what : `${what} ${Math.floor(fraction * 100)} %`);
}

/** Deletes the partial downloads of killed pods. Only the holder of the lock downloads. */
function removeParts(folder: string): void {
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.part')) fs.rmSync(path.join(folder, name), { force: true });
  }
}
