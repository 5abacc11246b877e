/** Paths that lead nowhere, and paths that do but not by this method. */
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { ChasquiError } from '../../errors.js';

/** The routes of an application, as they are registered: what a person who asked for another path is told of. */
export class Endpoints {
  readonly #basePath: string;
  readonly #shown: string[] = [];
  readonly #patterns: RegExp[] = [];

  /** To be made before the first route. */
  constructor(app: FastifyInstance, basePath: string) {
    this.#basePath = basePath;
    app.addHook('onRoute', (route) => {
      const { method, url } = route;
      if (isRefusal(route) || method === 'HEAD' || method === 'OPTIONS') return;
      this.#shown.push(`${method} ${url.replace('*', '{id}').replace(/:(\w+)/g, '{$1}')}`);
      this.#patterns.push(toPattern(url));
    });
  }

  unknownUrl(request: FastifyRequest): ChasquiError {
    const path = request.url.split('?', 1)[0] ?? '';
    const shown = path.length > LONGEST_SHOWN ? `${path.slice(0, LONGEST_SHOWN)}…` : path;
    const meant = this.#meantBy(path);
    const advice = meant ? `Did you mean \`${meant}\`?${this.#adviceFor(path, meant)}` : `There are ${this.#list()}.`;
    return new ChasquiError('unknown_url', `There is no \`${request.method} ${shown}\` here. ${advice}`);
  }

  /** A known path with the same end: what stands before it, a client's base URL, is what people get wrong. */
  #meantBy(path: string): string | null {
    const segments = path.split('/').filter((segment) => segment !== '');
    if (segments.length > MOST_SEGMENTS) return null;
    for (let start = 0; start < segments.length; start++) {
      const end = segments.slice(start).join('/');
      for (const candidate of [`${this.#basePath}/v1/${end}`, `${this.#basePath}/${end}`, `/${end}`]) {
        if (candidate !== path && this.#patterns.some((pattern) => pattern.test(candidate))) return candidate;
      }
    }
    return null;
  }

  #adviceFor(path: string, meant: string): string {
    if (/\/v1\/+v1(\/|$)/.test(path)) return ' The base URL of your client already ends in `/v1`.';
    const base = `${this.#basePath}/v1`;
    const [asked, wanted] = [`${path}/`, `${base}/`];
    if (!meant.startsWith(wanted) || asked.replace(/\/{2,}/g, '/').startsWith(wanted)) return '';
    return ` The base URL of a client must end in \`${base}\`.`;
  }

  #list(): string {
    return [this.#shown.slice(0, -1).join(', '), this.#shown.at(-1)].join(' and ');
  }
}

const LONGEST_SHOWN = 200;
const MOST_SEGMENTS = 20;

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace('*', '.+').replace(/:\w+/g, '[^/]+')}$`);
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Answers 405 to the methods that `url` does not have. Before the body is read: what it holds does not matter. */
export function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly string[]): void {
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url,
    onRequest: async (request, reply) => {
      reply.header('allow', allowed.join(', '));
      throw new ChasquiError(
        'method_not_allowed',
        `\`${request.routeOptions.url}\` takes ${allowed.join(' or ')}, but this request is a ${request.method}.`,
      );
    },
    handler: neverReached,
  });
}

/** Whether a route is one that only says which methods there are. */
export function isRefusal({ handler }: Pick<RouteOptions, 'handler'>): boolean {
  return handler === neverReached;
}

/** Of routes that are no endpoints: they refuse before. */
function neverReached(): void {}
