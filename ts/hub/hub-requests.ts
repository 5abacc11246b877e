/**
 * HTTP requests to a hub: through the environment's proxy, with the token for the hub only, and with bounded replies.
 */
import type { Dispatcher, EnvHttpProxyAgent } from 'undici';
import { ChasquiError } from '../errors.js';
import { isLoopback } from '../images/public-address.js';
import { VERSION } from '../version.js';
import { refusalOf, unreachable } from './hub-errors.js';

const MAX_REDIRECTS = 5;
const MAX_JSON_BYTES = 16 * 2 ** 20;
const CONNECT_TIMEOUT_MS = 20_000;
const REDIRECTS = [301, 302, 303, 307, 308];

export type HubReply = Dispatcher.ResponseData & { url: URL };

export interface RequestOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Timeout between two bytes. */
  idleTimeoutMs?: number;
  /** The subject, for messages: `the model user/repo`. */
  what: string;
  /** Return the redirect instead of following it if it leads to another host. */
  hubOnly?: boolean;
  /** Web page with a form to request access. */
  page?: string | undefined;
}

const IDLE_TIMEOUT_MS = 30_000;

export class HubRequests {
  readonly endpoint: string;
  readonly #token: string | null;
  #dispatcher: EnvHttpProxyAgent | null = null;
  #isClosed = false;

  constructor({ endpoint, token }: { endpoint: string; token: string | null }) {
    this.endpoint = endpoint;
    this.#token = token;
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  /** Builds a URL at the hub. `parts` are escaped, except for slashes. */
  url(...parts: string[]): URL {
    const path = parts.map((part) => part.split('/').map(encodeURIComponent).join('/'));
    return new URL(`${this.endpoint}/${path.join('/')}`);
  }

  /**
   * Sends a request and follows redirects. Throws error replies of the hub; those of other hosts are returned, because
   * their meaning depends on the request.
   * @throws {ChasquiError} a hub error, or the signal's reason.
   */
  async open(url: URL, options: RequestOptions): Promise<HubReply> {
    let at = url;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const reply = await this.#send(at, options);
      if (!REDIRECTS.includes(reply.statusCode)) return this.#checked({ ...reply, url: at }, options);
      await discard(reply);
      at = this.#next(reply.headers.location, at, options.what);
      if (options.hubOnly && !this.#isHub(at)) return { ...reply, url };
    }
    throw new ChasquiError('hub_failed', `Too many redirects from the hub for ${options.what}.`);
  }

  /** @throws {ChasquiError} a hub error; `hub_failed` if the reply is too long or not JSON. */
  async json(url: URL, options: RequestOptions): Promise<{ value: unknown; reply: HubReply }> {
    const reply = await this.open(url, { ...options, headers: { accept: 'application/json', ...options.headers } });
    const text = await this.#text(await this.#good(reply, options), MAX_JSON_BYTES, options);
    if (text === null) throw new ChasquiError('hub_failed', `The hub's reply about ${options.what} is too long.`);
    try {
      return { value: JSON.parse(text), reply };
    } catch {
      throw new ChasquiError('hub_failed', `The hub's reply about ${options.what} is not JSON.`);
    }
  }

  /** Returns the body as text, or `null` if it is longer than `maxBytes`. */
  async text(url: URL, maxBytes: number, options: RequestOptions): Promise<string | null> {
    return this.#text(await this.#good(await this.open(url, options), options), maxBytes, options);
  }

  /**
   * Returns the range of a file that the `range` header requests, or `null`, without reading the body, if the reply is
   * anything else.
   */
  async range(url: URL, length: number, options: RequestOptions): Promise<Buffer | null> {
    const reply = await this.#good(await this.open(url, options), options);
    if (reply.statusCode !== 206) {
      reply.body.on('error', () => {}).destroy();
      return null;
    }
    const bytes = await this.#bytes(reply, length, options);
    return bytes?.length === length ? bytes : null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#dispatcher?.destroy();
  }

  /** Loaded on first use: undici has a hundred files, and commands such as `ls` need no network. */
  async #undici() {
    const { EnvHttpProxyAgent, request } = await import('undici');
    this.#dispatcher ??= new EnvHttpProxyAgent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
    // A request of a closed hub fails.
    if (this.#isClosed) await this.#dispatcher.destroy();
    return { dispatcher: this.#dispatcher, request };
  }

  async #send(url: URL, { headers, signal, idleTimeoutMs = IDLE_TIMEOUT_MS, what }: RequestOptions) {
    const { dispatcher, request } = await this.#undici();
    try {
      return await request(url, {
        dispatcher,
        headers: {
          'user-agent': `chasqui/${VERSION}`,
          'accept-encoding': 'identity',
          ...headers,
          ...(this.#mayHaveToken(url) && { authorization: `Bearer ${this.#token}` }),
        },
        headersTimeout: idleTimeoutMs,
        bodyTimeout: idleTimeoutMs,
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(url, what, error);
    }
  }

  #isHub({ origin }: URL): boolean {
    return origin === new URL(this.endpoint).origin;
  }

  /** Only the hub gets the token, and only over https or loopback. */
  #mayHaveToken(url: URL): boolean {
    if (this.#token === null || !this.#isHub(url)) return false;
    return url.protocol === 'https:' || isLoopback(url.hostname);
  }

  async #checked(reply: HubReply, options: RequestOptions): Promise<HubReply> {
    return this.#isHub(reply.url) ? this.#good(reply, options) : reply;
  }

  async #good(reply: HubReply, options: RequestOptions): Promise<HubReply> {
    if (reply.statusCode < 400) return reply;
    const text = (await this.#text(reply, 4096, options).catch(() => null)) ?? '';
    throw refusalOf(reply, text, { ...options, hasToken: this.hasToken });
  }

  #next(location: string | string[] | undefined, from: URL, what: string): URL {
    const text = Array.isArray(location) ? location[0] : location;
    const url = text !== undefined && URL.canParse(text, from.href) ? new URL(text, from) : undefined;
    const isWeb = url?.protocol === 'https:' || (url?.protocol === 'http:' && from.protocol === 'http:');
    if (url === undefined || !isWeb) {
      throw new ChasquiError('hub_failed', `The hub redirects ${what} to an unsupported address.`);
    }
    return url;
  }

  async #text(reply: HubReply, maxBytes: number, options: RequestOptions): Promise<string | null> {
    return (await this.#bytes(reply, maxBytes, options))?.toString('utf8') ?? null;
  }

  async #bytes(reply: HubReply, maxBytes: number, { signal, what }: RequestOptions): Promise<Buffer | null> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of reply.body) {
        size += chunk.length;
        // Leaving the loop closes the connection.
        if (size > maxBytes) return null;
        chunks.push(chunk);
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(reply.url, what, error);
    }
    return Buffer.concat(chunks);
  }
}

/** Drains a short body, so that the connection can be reused. */
export async function discard({ body }: Dispatcher.ResponseData): Promise<void> {
  await body.dump({ limit: 64 * 1024 }).catch(() => undefined);
}

export function headerOf(reply: Pick<Dispatcher.ResponseData, 'headers'>, name: string): string | undefined {
  const value = reply.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
