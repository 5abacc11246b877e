/** What the app's port replies where there is no page: a page that leads back, and to programs an error without a list. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Not found · chasqui</title>
<h1>There is no such page</h1>
<p><a href="/">To the app</a></p>
</html>
`;

/** To be called before the application listens. Unknown endpoints are left to what explains those. */
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
