/** A page that runs code of models: in an opaque origin, without network access, and without the app's cookie. */
import type { FastifyInstance } from 'fastify';

/** Frames of the app inherit its policy, which forbids inline scripts. This page therefore has its own. */
const POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  'worker-src blob:',
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Runs `code` in the worker with the script `worker`, and returns the message of the worker. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sandbox</title>
<script>
  addEventListener('message', ({ data, source }) => {
    if (source !== parent) return;
    const worker = new Worker(URL.createObjectURL(new Blob([data.worker], { type: 'text/javascript' })));
    worker.onmessage = (event) => parent.postMessage(event.data, '*');
    worker.onerror = ({ message }) => parent.postMessage({ error: message }, '*');
    worker.postMessage(data.code);
  });
  parent.postMessage('ready', '*');
</script>
</html>
`;

export function sandboxRoute(app: FastifyInstance): void {
  const schema = { summary: 'The page that runs code of models', produces: { 200: ['text/html'] } };
  app.get('/sandbox', { schema }, async (_request, reply) =>
    reply.header('content-security-policy', POLICY).type('text/html; charset=utf-8').send(PAGE),
  );
}
