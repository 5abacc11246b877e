/**
 * The web page of `chasqui serve` and of shared servers. Browsers get it at `/`; other clients get the reply of the API. The page
 * and its scripts need no API key: they contain nothing about the server.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CONTENT_POLICY, PAGES } from './pages.js';

const PAGE = 'web-page.html';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
/** Names of assets contain a hash of the content. */
const CACHED = 'public, max-age=31536000, immutable';

export function webPage(app: FastifyInstance): void {
  const files = new Set([`/${PAGE}`, '/icon.svg', ...assetsIn(PAGES)]);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return;
    const name = request.url.replace(/\?.*/s, '');
    if (name === '/') reply.header('vary', 'accept');
    const wanted = name === '/' && acceptsHtml(request) ? `/${PAGE}` : name;
    if (files.has(wanted) && name !== `/${PAGE}`) return sendFile(request, reply, wanted);
  });
}

/** The page for servers that have it at another path, and set the attributes of its main element. */
export const chatPage = {
  contentPolicy: CONTENT_POLICY,
  html: (): string => readFileSync(path.join(PAGES, PAGE), 'utf8'),
  /** `name` is that of a file in `/assets/`. Returns null for unknown names. */
  sendAsset: (request: FastifyRequest, reply: FastifyReply, name: string): FastifyReply | null =>
    assetsIn(PAGES).includes(`/assets/${name}`) ? sendFile(request, reply, `/assets/${name}`) : null,
};

function acceptsHtml({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

function sendFile(request: FastifyRequest, reply: FastifyReply, name: string): FastifyReply {
  const isCompressed = /\bbr\b/.test(String(request.headers['accept-encoding'])) && !name.endsWith('.woff2');
  const contents = readFileSync(path.join(PAGES, `${name}${isCompressed ? '.br' : ''}`));
  if (isCompressed) reply.header('content-encoding', 'br');
  return reply
    .headers({
      'content-type': TYPES[path.extname(name)],
      'cache-control': name.startsWith('/assets/') ? CACHED : 'no-cache',
      'content-security-policy': CONTENT_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
    .send(contents);
}

/** Empty if the pages are not built. */
function assetsIn(pages: string): string[] {
  try {
    const names = readdirSync(path.join(pages, 'assets'));
    return names.filter((name) => path.extname(name) in TYPES).map((name) => `/assets/${name}`);
  } catch {
    return [];
  }
}
