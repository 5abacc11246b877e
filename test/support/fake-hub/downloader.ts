/**
 * A process that downloads a model and may kill itself at a stage on the way: `downloader.ts <endpoint> <cache folder>
 * <folder of the list> <model> <stage>`. Writes how many bytes were there at its start, and then the download's last state.
 */
import fs from 'node:fs';
import { Downloads } from '../../../ts/hub/downloads.js';
import { HubClient } from '../../../ts/hub/hub-client.js';

const [endpoint = '', cacheFolder = '', folder = '', model = '', stage = ''] = process.argv.slice(2);

/** As `kill -9` does it: nothing runs after this. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

const { renameSync } = fs;
if (stage === 'rename') fs.promises.rename = async () => die();
if (stage === 'link') fs.symlinkSync = () => die();
fs.renameSync = (from, to) => {
  if ((stage === 'ref' && String(to).endsWith('main')) || (stage === 'list' && String(to).endsWith('downloads.json')))
    die();
  renameSync(from, to);
};

const client = new HubClient({ endpoint });
const downloads = await Downloads.open({
  client,
  cacheFolder,
  folder,
  minRangeBytes: 50_000,
  stallTimeoutMs: 60_000,
  retryDelayMs: 20,
});
downloads.on(({ state }) => {
  if (state === stage) die();
});
const { id, downloadedBytes } = downloads.list()[0] ?? (await downloads.start(model));
console.log(`began with ${downloadedBytes}`);
const { state, error, path } = await downloads.ended(id);
console.log(JSON.stringify({ state, error, path }));
await downloads.close();
await client.close();
