/** Options of the HTTP server, and the context that its hooks and routes share. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidOptions } from '../errors.js';
import type { ImageHosts } from '../images/public-address.js';
import { URL_NAME } from '../keys/key-settings.js';
import { Metrics } from '../metrics/metrics.js';
import type { RequestRecord } from '../metrics/request-record.js';
import type { Spans } from '../metrics/spans.js';
import type { ModelPool } from '../models/pool.js';
import type { Profile } from '../profiles/profile.js';
import type { ServerErrorListener } from './error-handler.js';
import type { KeyCheck } from './guards/authentication.js';
import type { LogOptions } from './log-levels.js';
import { RunningReplies } from './running-replies.js';

export interface HttpOptions {
  /** Refuse unknown fields instead of ignoring them; default false. */
  strict?: boolean;
  /** The largest body in bytes, its images included; default the profile's. */
  bodyLimit?: number;
  /** Milliseconds of silence in a stream before a comment is sent; default 10,000. */
  keepAliveMs?: number;
  /** Milliseconds that a client may leave a stream unread before it is disconnected; default 600,000; 0: no limit. */
  stallTimeoutMs?: number;
  /** Milliseconds that a client may send nothing in the middle of its body; default 20,000. */
  bodySilenceMs?: number;
  /** Milliseconds that `close()` waits for running replies; default 0. */
  drainMs?: number;
  /** Hosts that images may be fetched from; default: public hosts, and loopback if the profile allows it. */
  imageHosts?: ImageHosts;
  /** Called with every error of the server itself; default: it is logged. */
  onServerError?: ServerErrorListener;
  /**
   * Maps an option's name in errors (`imageHosts`) to its name for the caller; default: the same name.
   */
  optionNames?: Readonly<Record<string, string>>;
  /** A certificate and its key, in PEM, to serve only https; default: http. */
  tls?: { cert: Buffer; key: Buffer };
  /** The organisation and the app that the base path consists of, in modes that have one. */
  deployment?: Deployment;
  /** Required in modes with keys: `public` for access without a key, or the check that a key must pass. */
  access?: 'public' | KeyCheck;
  /** Allowed CORS origins, `*` or `local`; default the profile's. */
  corsOrigins?: readonly string[];
  /** Names in the Host header that are accepted beside `localhost` and addresses, or `*` for any; default none. */
  allowedHosts?: readonly string[];
  /** Whether any name without a dot is accepted there, which no page on the internet can have; default false. */
  allowsDotlessHosts?: boolean;
  /** Default: an object of the application's own. */
  metrics?: Metrics;
  /** Reports requests to OpenTelemetry; default none. */
  spans?: Spans | null;
  /** Writes a line for each request; default none. */
  log?: LogOptions;
  /** Prefix of this application's routes; default: from the profile and the deployment. */
  basePath?: string;
  /** Hooks that may refuse requests, added before those that read bodies; default none. */
  guard?(app: FastifyInstance): void;
  /** Additional routes outside the base path; default none. */
  routes?(app: FastifyInstance, context: HttpContext): void;
  /** Observes each request; default none. */
  requests?: RequestObserver | undefined;
}

/** Observes requests while they run. */
export interface RequestObserver {
  /** `cancel` ends the request with an error for its client. */
  began(record: RequestRecord, request: FastifyRequest, cancel: () => void): void;
  ended(record: RequestRecord): void;
}

export interface HttpContext {
  pool: ModelPool;
  profile: Profile;
  options: RouteOptions;
  running: RunningReplies;
  metrics: Metrics;
  spans: Spans | null;
  log: LogOptions | undefined;
  requests: RequestObserver | undefined;
  /** Whether requests must have a valid key. */
  asksForKeys: boolean;
  /** Prefix of all routes; empty in the local modes. */
  basePath: string;
}

type RouteOption =
  | 'strict'
  | 'bodyLimit'
  | 'keepAliveMs'
  | 'stallTimeoutMs'
  | 'drainMs'
  | 'imageHosts'
  | 'onServerError'
  | 'optionNames';

export type RouteOptions = Required<Pick<HttpOptions, RouteOption>>;

const DEFAULTS: Omit<RouteOptions, 'imageHosts' | 'bodyLimit' | 'onServerError'> = {
  strict: false,
  keepAliveMs: 10_000,
  stallTimeoutMs: 600_000,
  drainMs: 0,
  optionNames: {},
};

/** Throws `invalid_options` if the mode needs a deployment and none is given. */
export function createHttpContext(
  pool: ModelPool,
  profile: Profile,
  options: HttpOptions & Required<Pick<HttpOptions, 'onServerError'>>,
): HttpContext {
  const imageHosts = profile.allowsLoopbackImageHosts ? 'loopback' : 'public';
  return {
    pool,
    profile,
    options: { ...DEFAULTS, imageHosts, bodyLimit: profile.bodyLimit, ...options },
    running: new RunningReplies(),
    metrics: options.metrics ?? new Metrics(),
    spans: options.spans ?? null,
    log: options.log,
    requests: options.requests,
    asksForKeys: profile.authentication !== 'none' && options.access !== 'public',
    basePath: options.basePath ?? basePathOf(profile, options.deployment),
  };
}

/** The app that a serverless server runs, and the organisation that it belongs to. */
export interface Deployment {
  org: string;
  app: string;
}

/** Throws `invalid_options` if the mode needs a deployment, and none or an invalid one is given. */
export function basePathOf({ mode, basePath }: Profile, deployment: Deployment | undefined): string {
  if (basePath === '') return '';
  if (!deployment) throw invalidOptions(`The ${mode} mode needs an organisation and an app.`);
  const { org, app } = deployment;
  for (const name of [org, app]) {
    if (!URL_NAME.test(name)) {
      throw invalidOptions(
        `\`${name}\` cannot be part of a URL path: use up to 100 letters, digits, \`.\`, \`_\` and \`-\`.`,
      );
    }
  }
  return basePath.replace('<org_id>', org).replace('<app_id>', app);
}
