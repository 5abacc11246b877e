/** `chasqui serve --background`: starts the server in a detached process and waits until it is ready. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataDir } from '../../hub/data-folder.js';
import { ownCall } from '../../own-call.js';
import { endEarlyForks } from '../../process/early-forks.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import type { HostingOptions } from '../options/hosting-option-table.js';
import { toJson } from '../output/json.js';
import { printable } from '../output/log-output.js';
import { createLogFile, lastLines } from './log-files.js';
import { entryOfProcess, LOG_VARIABLE, runningServers, type ServerEntry, serversFolder } from './server-registry.js';

const POLL_MS = 50;
const SHOWN_LINES = 20;

/** @throws {CommandFailed} with the exit code of the server if it ends before it is ready */
export async function serveInBackground({ dataDir: given, json }: HostingOptions): Promise<void> {
  endEarlyForks();
  const folder = serversFolder(dataDir(given));
  const { file, descriptor } = createLogFile(
    folder,
    runningServers(folder).map(({ log }) => log),
  );
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    detached: true,
    stdio: ['ignore', descriptor, descriptor],
    windowsHide: true,
    env: { ...process.env, [LOG_VARIABLE]: file },
  });
  closeSync(descriptor);
  const stop = () => void child.kill();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const entry = await untilReady(child, folder, file);
  child.unref();
  process.off('SIGINT', stop).off('SIGTERM', stop);
  console.log(json ? toJson(publicEntry(entry), 2) : describe(entry));
}

async function untilReady(child: ChildProcess, folder: string, log: string): Promise<ServerEntry> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      const text = lastLines(log, SHOWN_LINES).map(printable).join('\n');
      reject(new CommandFailed(code || EXIT.failed, `the server ended before it was ready; its log, ${log}:\n${text}`));
    });
  });
  failed.catch(() => undefined);
  for (;;) {
    const entry = child.pid === undefined ? undefined : entryOfProcess(folder, child.pid);
    if (entry?.state === 'ready') return entry;
    await Promise.race([failed, sleep(POLL_MS)]);
  }
}

function describe({ pid, url, socket, models, log }: ServerEntry): string {
  const on = socket === null ? '' : ` on the socket ${socket}`;
  return [
    `Serving ${models.join(', ') || 'models'} at ${url}/v1${on} in process ${pid}`,
    `Log: ${log}; ${ownCall()} logs ${pid}`,
    `Stop it: ${ownCall()} stop ${pid}`,
  ].join('\n');
}

export function publicEntry({ pidNamespace: _, ...entry }: ServerEntry): Omit<ServerEntry, 'pidNamespace'> {
  return entry;
}
