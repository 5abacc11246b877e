/** Replies to unknown paths: an HTML page with a link, and a short error for programs. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Not found · chasqui</title>
<h1>Page not found</h1>
<p><a href="/">Back to the app</a></p>
</html>
`;

/** Call before `listen`. Unknown endpoints are handled elsewhere. */
export function explainUnknownPages(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || !isOfPages(request)) return;
    if (wantsPage(request)) return reply.code(404).type('text/html; charset=utf-8').send(PAGE);
    throw new ChasquiError('unknown_url', 'The app has no such file.');
  });
}

function isOfPages({ method, url }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && !/^\/(api|app|v1)(\/|$)/.test(url);
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}
