/**
 * A page that runs code of models or shows their pages: in an opaque origin, without network access, and without the app's
 * cookie. The policy of the app (`frame-src`) stops navigation to other hosts.
 */
import type { FastifyInstance } from 'fastify';

/** Frames of the app inherit its policy, which forbids inline scripts. This page therefore has its own. */
const POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'worker-src blob:',
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Becomes the page `html`, or runs `code` in the worker with the script `worker` and returns the message of the worker. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sandbox</title>
<script>
{
  // A click with Alt downloads the target of a link, which no policy stops. Pages cannot replace bound functions.
  const bind = (method) => Function.prototype.call.bind(method);
  const isWithAlt = bind(Object.getOwnPropertyDescriptor(MouseEvent.prototype, 'altKey').get);
  const preventDefault = bind(Event.prototype.preventDefault);
  addEventListener('message', ({ data, source }) => {
    if (source !== parent) return;
    if (data.html !== undefined) {
      document.open();
      addEventListener('click', (event) => isWithAlt(event) && preventDefault(event), true);
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
}
</script>
</html>
`;

/** Browsers with `Connection-Allowlist` also stop WebRTC and preconnect links, which no content security policy covers. */
const HEADERS = { 'content-security-policy': POLICY, 'connection-allowlist': '()', 'x-dns-prefetch-control': 'off' };

export function sandboxRoute(app: FastifyInstance): void {
  const schema = {
    summary: 'The page that runs code of models and shows their pages',
    produces: { 200: ['text/html'] },
  };
  app.get('/sandbox', { schema }, async (_request, reply) =>
    reply.headers(HEADERS).type('text/html; charset=utf-8').send(PAGE),
  );
}
