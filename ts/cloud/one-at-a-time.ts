/** Keeps a second control plane away from a folder in which one is at work; one that was killed leaves nothing behind. */
import fs from 'node:fs';
import net from 'node:net';
import { ChasquiError } from '../errors.js';

export interface Claim {
  release(): void;
}

/** `path`: of a socket that whoever works in the folder listens on. `listen` makes the server listen. */
export async function claim(path: string, listen: (server: net.Server, path: string) => void): Promise<Claim> {
  if (await isHeld(path)) {
    throw new ChasquiError('invalid_options', 'A cloud already runs in this data folder. Stop it first.');
  }
  fs.rmSync(path, { force: true });
  const server = net.createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end();
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
    listen(server, path);
  });
  return { release: () => void server.close() };
}

/** Whether somebody is at work there. */
export function isHeld(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.createConnection(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
