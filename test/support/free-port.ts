import { randomInt } from 'node:crypto';
import net from 'node:net';

/** Below the ports that systems give to connections and to servers on port 0: Linux begins at 32768, others at 49152. */
const PORTS = [20_000, 32_000] as const;

/** Returns a free loopback port, for programs that cannot choose one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
