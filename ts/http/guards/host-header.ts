/**
 * Keeps out web pages whose own name resolves to this machine (DNS rebinding). For a browser, such a page and this
 * server have the same origin, so neither CORS nor the content type stops it; but its Host header has the page's name.
 */
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../errors.js';

export const ANY_HOST = '*';

export interface HostNames {
  /** Names that the server goes by, or `ANY_HOST`; default none. */
  names?: readonly string[];
  /** Whether any name without a dot is taken, as containers and networks at home have them; default false. */
  withoutDots?: boolean;
}

/** Accepts `localhost`, addresses, names of private networks, and those that it is told of. */
export function checkHostHeader(app: FastifyInstance, { names = [], withoutDots = false }: HostNames): void {
  if (names.includes(ANY_HOST)) return;
  const known = new Set(names.map(normalize));
  app.addHook('onRequest', async ({ headers }) => {
    if (headers.host === undefined) return;
    const name = normalize(headers.host.replace(/:\d*$/, ''));
    if (known.has(name) || isUnmistakable(name) || (withoutDots && /^[a-z0-9_-]+$/.test(name))) return;
    const shown = name.slice(0, 100);
    const error = new ChasquiError(
      'host_not_allowed',
      `This server does not go by the name \`${shown}\`, which the Host header gives. Use its address, or add the name ` +
        'to `allowedHosts` if it should.',
    );
    error.option = 'allowedHosts';
    throw error;
  });
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * `localhost` and addresses lead where they say: nobody can make another name of them that leads here. Nor can anybody on
 * the internet have a name that ends in `.internal`, which is kept for private networks (`host.docker.internal`).
 */
function isUnmistakable(name: string): boolean {
  return (
    name === '' ||
    /^([^.]+\.)*localhost$/.test(name) ||
    /^([^.]+\.)+internal$/.test(name) ||
    isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
  );
}
