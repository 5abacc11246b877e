// Counts the files and named functions of ours that the server process executes for one warm streamed text chat, by V8's
// precise coverage. `npm run build` first, then `npx tsx test/house/request-path.ts`; `--list` prints the functions.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { Session } from 'node:inspector';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';
import { demoModelPath } from '../support/demo-model.ts';
import { root } from './source-tree.ts';

const DIST = path.join(root, 'dist');

/** Maps a file of `dist/` to the names of its executed functions. */
type Coverage = Record<string, string[]>;

/** Runs `chasqui serve` in this process. Writes one line of coverage to descriptor 3 for each line of standard input. */
async function serveWithCoverage(): Promise<void> {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  readline.createInterface(process.stdin).on('line', () => {
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      const ours = result.filter(({ url }) => url.startsWith(pathToFileURL(DIST).href));
      const called = ours.map(({ url, functions }) => [
        url.slice(pathToFileURL(DIST).href.length + 1),
        functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).map(({ functionName }) => functionName),
      ]);
      fs.writeSync(3, `${JSON.stringify(Object.fromEntries(called))}\n`);
    });
  });
  // Not dist/cli.js, which loads a bundle of all files.
  const { startServeFast } = await import(pathToFileURL(path.join(DIST, 'cli', 'serve', 'fast-start.js')).href);
  await startServeFast([process.execPath, 'chasqui', 'serve', '--model', demoModelPath, '--port', '0']);
}

async function chat(url: string): Promise<void> {
  const body = {
    model: 'chasqui-demo',
    messages: [{ role: 'user', content: 'Count from 3 to 6' }],
    stream: true,
    max_tokens: 16,
    temperature: 0,
  };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const reply = await fetch(`${url}/chat/completions`, init);
  const text = await reply.text();
  if (reply.status !== 200 || !text.endsWith('[DONE]\n\n'))
    throw new Error(`No complete stream: ${text.slice(0, 500)}`);
}

async function measure(): Promise<Coverage> {
  const server = spawn(process.execPath, ['--import', 'tsx', import.meta.filename, 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  try {
    const lines = readline.createInterface(server.stdio[3] as NodeJS.ReadableStream)[Symbol.asyncIterator]();
    const take = async (): Promise<Coverage> => {
      server.stdin?.write('\n');
      return JSON.parse((await lines.next()).value);
    };
    let url: string | undefined;
    for await (const line of readline.createInterface(server.stdout as NodeJS.ReadableStream)) {
      url = /^Serving .* at (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) break;
    }
    if (url === undefined) throw new Error('The server did not start.');
    await chat(url);
    await take();
    await chat(url);
    return await take();
  } finally {
    server.kill();
  }
}

if (process.argv[2] === 'serve') {
  await serveWithCoverage();
} else {
  const covered = Object.entries(await measure())
    .map(([file, names]) => ({ file, names: names.filter((name) => name !== '') }))
    .filter(({ names }) => names.length > 0)
    .sort((one, other) => one.file.localeCompare(other.file));
  if (process.argv.includes('--list'))
    for (const { file, names } of covered) console.log(`${file}: ${names.join(', ')}`);
  const functions = covered.reduce((sum, { names }) => sum + names.length, 0);
  console.log(`${covered.length} files, ${functions} named functions`);
}
