/** Listens at an address of this machine, for products with several ports. */
import net from 'node:net';
import type { buildApp } from '../api/app.js';

type App = ReturnType<typeof buildApp>;

/**
 * Clients may resolve `localhost` to 127.0.0.1 or ::1, so 127.0.0.1 includes ::1 if the machine has it. Rejects with Node's
 * error if the port is taken. Returns the port, which differs from the given one only for 0.
 */
export async function listenAt(app: App, host: string, port: number): Promise<number> {
  const second = host === '127.0.0.1' ? secondDoor(app) : null;
  if (second !== null) app.addHook('onClose', async () => void second.close());
  await app.listen({ host, port });
  const taken = (app.server.address() as net.AddressInfo).port;
  if (second === null) return taken;
  try {
    await listen(second, '::1', taken);
  } catch (error) {
    if (!NO_IPV6.includes((error as NodeJS.ErrnoException).code ?? '')) {
      await app.close();
      throw error;
    }
  }
  return taken;
}

/** Listens at each address, on the same port. Rejects with Node's error if one of them cannot be used. */
export async function listenAtAll(app: App, [host = '', ...others]: readonly string[], port: number): Promise<void> {
  const doors = others.map((address) => ({ address, door: secondDoor(app) }));
  if (doors.length > 0) {
    app.addHook('onClose', async () => {
      for (const { door } of doors) door.close();
    });
  }
  await app.listen({ host, port });
  const { port: taken } = app.server.address() as net.AddressInfo;
  for (const { address, door } of doors) await listen(door, address, taken);
}

const NO_IPV6 = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** Passes its connections to the server of the application. */
function secondDoor(app: App): net.Server {
  const door = net.createServer({ noDelay: true }, (socket) => app.server.emit('connection', socket));
  door.maxConnections = app.server.maxConnections;
  return door;
}

/** Whether the port is free at both addresses of `localhost`. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '::1']) {
    const error = await listenError(host, port);
    if (error !== null && !NO_IPV6.includes(error.code ?? '')) return false;
  }
  return true;
}

/** Why nothing can listen there now, or `null`. */
export function listenError(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

function listen(server: net.Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
