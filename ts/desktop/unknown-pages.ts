/** Pages in place of errors for browsers. Programs get a short error. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';

/** Sends a page. `html` is the text below the title. */
export function explain(reply: FastifyReply, status: number, title: string, html: string): FastifyReply {
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} · chasqui</title>
<h1>${title}</h1>
<p>${html}</p>
</html>
`;
  return reply.code(status).type('text/html; charset=utf-8').send(page);
}

/** Call before `listen`. Unknown endpoints are handled elsewhere. */
export function explainUnknownPages(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || !isOfPages(request)) return;
    if (wantsPage(request)) return explain(reply, 404, 'Page not found', '<a href="/">Back to the app</a>');
    throw new ChasquiError('unknown_url', 'The app has no such file.');
  });
}

function isOfPages({ method, url }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && !/^\/(api|app|v1)(\/|$)/.test(url);
}

export function wantsPage({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '');
}
