/**
 * Restarts without an outage: a process passes its listening socket to its successor, in the way of systemd
 * (`sd_listen_fds`). Connections wait in the socket until the successor accepts them.
 */
import { spawn } from 'node:child_process';
import type { Server } from 'node:http';
import { ChasquiError, invalidOptions } from '../errors.js';

/** The first descriptor that systemd passes. */
const PASSED_FD = 3;
/** Time for a successor to load its code. */
const LOAD_MS = 60_000;
const READY = 'ready';

/** Takes the passed socket out of the environment, which other processes inherit. Null if there is none. */
export function takePassedSocket(environment: NodeJS.ProcessEnv): number | null {
  const { LISTEN_FDS: count, LISTEN_PID: pid = String(process.pid) } = environment;
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete environment[name];
  if (count === undefined || pid !== String(process.pid)) return null;
  if (count === '1') return PASSED_FD;
  throw invalidOptions(`Systemd passed ${count} sockets (LISTEN_FDS); the cloud listens on one.`);
}

/**
 * Starts this program again with the socket of `server`. Resolves with the id of the new process once it waits for the
 * data folder. Rejects if it ends before; then this process keeps serving.
 */
export function startSuccessor(server: Server, environment: NodeJS.ProcessEnv): Promise<number> {
  // Node has no public name for the descriptor.
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  const [, ...program] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, ...program], {
    stdio: ['ignore', 'inherit', 'inherit', fd, 'ipc'],
    env: { ...environment, LISTEN_FDS: '1' },
  });
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      child.kill('SIGKILL');
      reject(new ChasquiError('engine_failed', `The new process of the cloud ${reason}.`));
    };
    const late = setTimeout(() => fail(`did not start within ${LOAD_MS / 1000} s`), LOAD_MS);
    child.once('error', (error) => fail(`did not start: ${error.message}`));
    child.once('exit', (code, signal) => fail(`ended with ${signal ?? `exit code ${code}`}`));
    child.once('message', () => {
      clearTimeout(late);
      child.removeAllListeners();
      child.disconnect();
      child.unref();
      resolve(child.pid as number);
    });
  });
}

/** Tells the predecessor, if there is one, that this process waits for the data folder. */
export function reportReady(): void {
  if (process.connected) process.send?.(READY, () => process.connected && process.disconnect());
}
