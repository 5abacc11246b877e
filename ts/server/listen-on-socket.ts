/** Listens on a Unix socket, which is a file: it may be left over from a server that was killed, and it has an owner. */
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import net from 'node:net';
import type { buildApp } from '../api/app.js';
import { ChasquiError } from '../errors.js';

/** The system's `sockaddr_un` has room for 108 bytes, on macOS for 104, and a zero ends them. */
const MAX_PATH_BYTES = 103;

/**
 * The socket is for this account alone; whoever else is to get in is given the right by its owner. Node removes the file
 * when the server is closed.
 * @throws {ChasquiError} `invalid_options`: another server listens there, or the file is something else.
 */
export async function listenOnSocket(app: ReturnType<typeof buildApp>, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw problem(`is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
  }
  await removeStale(path);
  await app.ready();
  // Nobody else may connect between the moment that the file is made and that in which its rights are set.
  const before = process.umask(0o077);
  try {
    await app.listen({ path });
  } catch (error) {
    throw problem(`is ${path}, which cannot be made: ${(error as Error).message}`);
  } finally {
    process.umask(before);
  }
  chmodSync(path, 0o600);
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw problem(`is ${path}, which is there and no socket; give another path`);
  if (await isAnswered(path)) throw problem(`is ${path}, where another server listens; stop it or give another path`);
  rmSync(path, { force: true });
}

/** Only a refusal is a sign that nobody listens: a server that is busy, or of another account, is none. */
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
  const error = new ChasquiError('invalid_options', `\`socket\` ${what}.`);
  error.option = 'socket';
  return error;
}
