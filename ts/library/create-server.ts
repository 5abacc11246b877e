/** Public `createServer`. */
import type { Engine } from '../engine/engine.js';
import { runtime } from '../profiles/runtime.js';
import { openModelApp } from './model-app.js';

export interface ServerOptions {
  /** Address to listen on. Default: `127.0.0.1`. `0.0.0.0` lets other machines connect: set `apiKeys` then. */
  host?: string;
  /** Default: 8080. 0 takes a free port. */
  port?: number;
  /** Each request must carry one of these keys. Default: none is required. */
  apiKeys?: readonly string[];
  /** Web pages that may use the server: their origins, `*`, or `local`. Default: `local`, pages of this machine. */
  corsOrigins?: readonly string[];
  /** Names in the Host header that are accepted besides addresses and `localhost`; `*` accepts all. Default: none. */
  allowedHosts?: readonly string[];
  /** Milliseconds that `close()` waits for running replies. Default: 25,000. */
  drainMs?: number;
}

export interface ModelServer {
  /** The base URL of clients: `http://127.0.0.1:8080/v1`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Stops listening, and waits for running replies. The model stays open. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DRAIN_MS = 25_000;

/**
 * Serves a loaded model over HTTP, with the endpoints of `chasqui serve`. Requests may name any model.
 * @throws {ChasquiError} `invalid_options`; Node's error if the port is taken
 */
export async function createServer(model: Engine, options: ServerOptions = {}): Promise<ModelServer> {
  const {
    host = runtime.host,
    port = runtime.port,
    apiKeys,
    allowedHosts = [],
    drainMs = DRAIN_MS,
    corsOrigins,
  } = options;
  const [{ SharedKeys }, { ownNames, reachableAt }, { listenAt }] = await Promise.all([
    import('../keys/shared-keys.js'),
    import('../server/start.js'),
    import('../server/listen.js'),
  ]);
  const keys = apiKeys === undefined ? null : new SharedKeys(apiKeys);
  const app = await openModelApp(model, {
    ...reachableAt(host),
    drainMs,
    allowedHosts: [...ownNames(host), ...allowedHosts],
    ...(corsOrigins && { corsOrigins }),
    ...(keys && { access: (key: string) => keys.admits(key) }),
  });
  const taken = await listenAt(app, host, port);
  const close = () => app.close();
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/v1`,
    host,
    port: taken,
    close,
    [Symbol.asyncDispose]: close,
  };
}
