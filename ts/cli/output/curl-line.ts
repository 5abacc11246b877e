/** The base URL of a server, and a curl command that tries it. */

/** Replaces a wildcard address with the loopback address. */
export function baseUrl(host: string, port: number, scheme = 'http'): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The endpoint of the first request to a model. */
const REQUESTS = {
  chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hello!' }] } },
  embeddings: { path: '/v1/embeddings', body: { input: 'Hello!' } },
  rerank: { path: '/v1/rerank', body: { query: 'Who greets?', documents: ['Hello!', 'Goodbye!'] } },
};

export interface CurlSettings {
  /** Authorization scheme, for servers that require a key; default none. */
  scheme?: 'Key' | 'Bearer' | null | undefined;
  asks?: keyof typeof REQUESTS;
  /** The Unix socket that the server listens on; default none. */
  socket?: string | undefined;
}

export function curlLine(
  base: string,
  model: string,
  platform: NodeJS.Platform,
  { scheme = null, asks = 'chat', socket }: CurlSettings = {},
): string {
  const { path, body: fields } = REQUESTS[asks];
  const body = JSON.stringify({ model, ...fields });
  const quote = platform === 'win32' ? quoteForCmd : quoteForShell;
  const url = base.includes('[') ? quote(`${base}${path}`) : `${base}${path}`;
  const key = scheme === null ? '' : `-H ${quote(`Authorization: ${scheme} <API_KEY>`)} `;
  const through = socket === undefined ? '' : `--unix-socket ${quote(socket)} `;
  return `curl ${through}${url} ${key}-H ${quote('Content-Type: application/json')} -d ${quote(body)}`;
}

/** Single quotes preserve everything in a shell except a single quote, which must stand outside them. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quoteForCmd(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
