/**
 * Keeps out web pages whose own name resolves to this machine (DNS rebinding). For a browser, such a page and this
 * server have the same origin, so neither CORS nor the content type stops it; but its Host header has the page's name.
 */
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../errors.js';

export const ANY_HOST = '*';

/** Accepts `localhost`, addresses and `names`. */
export function checkHostHeader(app: FastifyInstance, names: readonly string[]): void {
  if (names.includes(ANY_HOST)) return;
  const known = new Set(names.map(normalize));
  app.addHook('onRequest', async ({ headers }) => {
    if (headers.host === undefined) return;
    const name = normalize(headers.host.replace(/:\d*$/, ''));
    if (known.has(name) || isUnmistakable(name)) return;
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

/** `localhost` and addresses lead where they say: nobody can make another name of them that leads here. */
function isUnmistakable(name: string): boolean {
  return name === '' || /^([^.]+\.)*localhost$/.test(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
