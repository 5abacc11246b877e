/** A page that runs code of models: in an opaque origin, without network access, and without the app's cookie. */
import type { FastifyInstance } from 'fastify';

/** Frames of the app inherit its policy, which forbids inline scripts. This page therefore has its own. */
const POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  'font-src data:',
  'media-src data: blob:',
  'worker-src blob:',
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Shows `html`, or runs `worker` with `code` in a worker and returns its message. The policy stays after `open`. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sandbox</title>
<script>
  addEventListener('message', ({ data, source }) => {
    if (source !== parent) return;
    if (data.html !== undefined) {
      document.open();
      document.write(data.html);
      document.close();
      return;
    }
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
