/** Errors for paths that do not exist, and for methods that a path does not have. */
import { distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** The endpoints of an application, as their routes are registered. */
export class Endpoints {
  readonly #patterns: RegExp[] = [];
  /** The methods of each path. */
  readonly #methods = new Map<string, Set<string>>();
  #refusesOthers = false;

  /** Create it before the first route. */
  constructor(
    app: FastifyInstance,
    private readonly basePath: string,
  ) {
    app.addHook('onRoute', ({ method, url }) => {
      if (!this.#refusesOthers) for (const each of [method].flat()) this.#add(each, url);
    });
  }

  /**
   * Replies 405 to unsupported methods without reading a body. Call it after the last route.
   */
  refuseOtherMethods(app: FastifyInstance): void {
    this.#refusesOthers = true;
    for (const [url, methods] of this.#methods) {
      app.route({
        method: METHODS.filter((method) => !methods.has(method)),
        url,
        onRequest: async (request, reply) => {
          throw otherMethod(url, methods, request, reply);
        },
        // Every route must have a handler; this one is never reached.
        handler: () => undefined,
      });
    }
  }

  /** For a request without a route: its path is unknown, or no path supports its method, such as TRACE. */
  refusal(request: FastifyRequest, reply: FastifyReply): ChasquiError {
    const path = request.url.split('?', 1)[0] ?? '';
    const found = METHODS.includes(request.method) ? undefined : this.#find(path);
    return found === undefined ? this.#unknownUrl(request, path) : otherMethod(path, found, request, reply);
  }

  #find(path: string): ReadonlySet<string> | undefined {
    return [...this.#methods].find(([url]) => toPattern(url).test(path))?.[1];
  }

  #unknownUrl(request: FastifyRequest, path: string): ChasquiError {
    const shown = path.length > MAX_SHOWN_LENGTH ? `${path.slice(0, MAX_SHOWN_LENGTH)}…` : path;
    const why = NEVER_HERE.find(([pattern]) => pattern.test(path))?.[1];
    if (why) return new ChasquiError('unknown_url', `There is no \`${request.method} ${shown}\` here: ${why}.`);
    const meant = this.#meantBy(path);
    const near = meant ?? this.#nearest(path);
    const advice = near
      ? `Did you mean \`${near}\`?${meant ? this.#adviceFor(path, meant) : ''}`
      : `\`GET ${this.basePath}/openapi.json\` lists the endpoints.`;
    return new ChasquiError('unknown_url', `There is no \`${request.method} ${shown}\` here. ${advice}`);
  }

  #add(method: string, url: string): void {
    // The CORS plugin adds an OPTIONS route for every path, which is not an endpoint.
    if (method === 'OPTIONS') return;
    // The router ignores a slash at the end of a path.
    const path = url.length > 1 ? url.replace(/\/$/, '') : url;
    this.#methods.set(path, (this.#methods.get(path) ?? new Set()).add(method));
    if (method === 'HEAD') return;
    this.#patterns.push(toPattern(url));
  }

  /** Finds a known path with the same end, because most mistakes are in the client's base URL. */
  #meantBy(path: string): string | null {
    const segments = path.split('/').filter((segment) => segment !== '');
    if (segments.length > MAX_SEGMENTS) return null;
    for (let start = 0; start < segments.length; start++) {
      const end = segments.slice(start).join('/');
      for (const candidate of [`${this.basePath}/v1/${end}`, `${this.basePath}/${end}`, `/${end}`]) {
        if (candidate !== path && this.#patterns.some((pattern) => pattern.test(candidate))) return candidate;
      }
    }
    return null;
  }

  #adviceFor(path: string, meant: string): string {
    if (/\/v1\/+v1(\/|$)/.test(path)) return ' The base URL of your client already ends in `/v1`.';
    const base = `${this.basePath}/v1`;
    const [asked, wanted] = [`${path}/`, `${base}/`];
    if (!meant.startsWith(wanted) || asked.replace(/\/{2,}/g, '/').startsWith(wanted)) return '';
    return ` The base URL of a client must end in \`${base}\`.`;
  }

  /** Finds the known path with the fewest different characters. */
  #nearest(path: string): string | null {
    if (path.length > MAX_SHOWN_LENGTH) return null;
    const [nearest] = [...this.#methods.keys()]
      .map((url) => ({ url, edits: distance(path, url) }))
      .filter(({ edits }) => edits <= path.length * MAX_DIFFERENCE)
      .sort((one, other) => one.edits - other.edits);
    return nearest?.url ?? null;
  }
}

/** Lists the supported methods in the `Allow` header. */
function otherMethod(
  url: string,
  methods: ReadonlySet<string>,
  { method }: FastifyRequest,
  reply: FastifyReply,
): ChasquiError {
  const allowed = METHODS.filter((each) => methods.has(each));
  reply.header('allow', allowed.join(', '));
  return new ChasquiError('method_not_allowed', `\`${url}\` takes ${allowed.join(' or ')}, not ${method}.`);
}

/** Unsupported endpoints of other servers, with the reason: OpenAI's for speech synthesis, Ollama's for changing models. */
const NEVER_HERE: readonly (readonly [path: RegExp, why: string])[] = [
  [/\/audio\/speech$/, 'this server does not speak'],
  [
    /^\/api\/(pull|push|create|copy|delete|blobs\/[^/]+)$/,
    'clients cannot change the models of this server in that way',
  ],
];

const MAX_SHOWN_LENGTH = 80;
/** A suggested path differs in at most this share of its characters. */
const MAX_DIFFERENCE = 0.25;
const MAX_SEGMENTS = 20;

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace('*', '.+').replace(/:\w+/g, '[^/]+')}$`);
}
