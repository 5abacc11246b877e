/** Listens at an address of this machine, for applications that bring up and down more than one port. */
import net from 'node:net';
import type { buildApp } from '../api/app.js';

type App = ReturnType<typeof buildApp>;

/**
 * Programs may take `localhost` for either of 127.0.0.1 and ::1, so the first includes the second where the machine has
 * it. Rejects with Node's own error when a port is not free. Returns the port, which is another one for 0 only.
 */
export async function listenAt(app: App, host: string, port: number): Promise<number> {
  const second = host === '127.0.0.1' ? secondDoor(app) : null;
  if (second !== null) app.addHook('onClose', async () => void second.close());
  await app.listen({ host, port });
  const taken = (app.server.address() as net.AddressInfo).port;
  if (second === null) return taken;
  try {
    await listen(second, taken);
  } catch (error) {
    if (!NO_IPV6.includes((error as NodeJS.ErrnoException).code ?? '')) {
      await app.close();
      throw error;
    }
  }
  return taken;
}

const NO_IPV6 = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** Its connections are handled by the application's own server. */
function secondDoor(app: App): net.Server {
  const door = net.createServer({ noDelay: true }, (socket) => app.server.emit('connection', socket));
  door.maxConnections = app.server.maxConnections;
  return door;
}

/** Whether both addresses of `localhost` have this port free. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '::1']) if (!(await canListen(host, port))) return false;
  return true;
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(NO_IPV6.includes(code)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function listen(server: net.Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '::1', port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
