/**
 * Keeps out web pages that have their own name lead to this machine (DNS rebinding): for a browser, such a page and
 * this server are of one origin, so neither CORS nor the content type stops it. Its Host header gives it away.
 */
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../errors.js';

export const ANY_HOST = '*';

/** `names` are taken beside `localhost` and addresses. */
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

/** Leads where it says, whoever uses it: nobody else can make it lead here. */
function isUnmistakable(name: string): boolean {
  return name === '' || /^([^.]+\.)*localhost$/.test(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
