/** Listens on a Unix socket, and replaces the socket file of a server that was killed. */
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import net from 'node:net';
import type { buildApp } from '../api/app.js';
import { type ChasquiError, invalidOptions } from '../errors.js';

/** `sockaddr_un` has 108 bytes, on macOS 104, including the terminating zero. */
const MAX_PATH_BYTES = 103;

/**
 * Only the current user may connect; the owner can change the mode of the file. Node removes the file when the server is closed.
 * @throws {ChasquiError} `invalid_options`: another server listens there, or the file is no socket.
 */
export async function listenOnSocket(app: ReturnType<typeof buildApp>, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw problem(`is longer than ${MAX_PATH_BYTES} bytes, the limit for the path of a socket`);
  }
  await removeStale(path);
  await app.ready();
  // The umask protects the socket until its mode is set.
  const before = process.umask(0o077);
  try {
    await app.listen({ path });
  } catch (error) {
    throw problem(`is ${path}, which cannot be created: ${(error as Error).message}`);
  } finally {
    process.umask(before);
  }
  chmodSync(path, 0o600);
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw problem(`is ${path}, which exists and is no socket; give another path`);
  if (await isAnswered(path)) throw problem(`is ${path}, where another server listens; stop it or give another path`);
  rmSync(path, { force: true });
}

/** Only ECONNREFUSED proves that no server listens: a busy server, or one of another user, gives other errors. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}

function problem(what: string): ChasquiError {
  const error = invalidOptions(`\`socket\` ${what}.`);
  error.option = 'socket';
  return error;
}
