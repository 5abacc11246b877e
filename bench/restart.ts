/**
 * Measures the conversation cache on disk: one process computes a prompt and ends; a second process gets the same prompt.
 * Each process prints its wall time and CPU time to the first token.
 *
 *     node --import tsx bench/restart.ts --model FILE.gguf --tokens 4000 [--threads 2]
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../test/support/seeded-random.js';
import { loadModel } from '../ts/index.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    tokens: { type: 'string', default: '4000' },
    threads: { type: 'string', default: '2' },
    /** Set in the measured child processes. */
    folder: { type: 'string' },
  },
});
const { model: file = '', folder } = values;
const nTokens = Number(values.tokens);

interface FirstToken {
  cached: number;
  wallMs: number;
  cpuMs: number;
  closeMs: number;
}

async function measure(cacheFolder: string): Promise<FirstToken> {
  const options = { contextSize: nTokens + 256, parallel: 1, threads: Number(values.threads) };
  const model = await loadModel(file, { ...options, cacheDiskMiB: 4096, cacheRamMiB: 4096, cacheFolder });
  const random = seededRandom(1);
  const prompt = Array.from({ length: nTokens }, () => 10 + Math.floor(random() * 1000));
  const began = performance.now();
  const before = process.cpuUsage();
  for await (const { finish } of model.generate({ prompt, maxTokens: 1 })) {
    if (finish === undefined) continue;
    const wallMs = performance.now() - began;
    const { user, system } = process.cpuUsage(before);
    const closing = performance.now();
    await model.close();
    return { cached: finish.cachedTokens, wallMs, cpuMs: (user + system) / 1000, closeMs: performance.now() - closing };
  }
  throw new Error('the stream ended without a finish');
}

function inProcess(cacheFolder: string): FirstToken {
  const { model = '', tokens, threads } = values;
  const args = ['--model', model, '--tokens', tokens, '--threads', threads, '--folder', cacheFolder];
  const script = fileURLToPath(import.meta.url);
  const child = spawnSync(process.execPath, ['--import', 'tsx', script, ...args], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout);
}

if (folder !== undefined) {
  console.log(JSON.stringify(await measure(folder)));
} else {
  const cacheFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-restart-'));
  try {
    const rows = { computed: inProcess(cacheFolder), 'after a restart': inProcess(cacheFolder) };
    const written = fs.readdirSync(cacheFolder, { recursive: true, encoding: 'utf8' });
    const bytes = written.reduce((sum, name) => sum + fs.statSync(path.join(cacheFolder, name)).size, 0);
    console.table(rows);
    console.log(`${(bytes / 2 ** 20).toFixed(1)} MiB on disk`);
  } finally {
    fs.rmSync(cacheFolder, { recursive: true });
  }
}
