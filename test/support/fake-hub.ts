/**
 * A model hub that is a real server on this computer: what HF_ENDPOINT may name. It speaks Hugging Face's interface, has
 * its bytes at an address of another origin that expires, and can be made to misbehave as hubs and networks do.
 */
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendBytes } from './fake-hub/bytes.js';
import { errorHeaders, type Misbehaviour } from './fake-hub/misbehaviour.js';
import { type FakeRepo, listedModel, modelInfo, type RepoContent, toRepo, treeEntries } from './fake-hub/repo.js';

export type { Misbehaviour } from './fake-hub/misbehaviour.js';
export type { RepoContent } from './fake-hub/repo.js';

/** A request to one of the two hosts. */
export interface SeenRequest {
  host: 'hub' | 'cdn';
  path: string;
  range: string | undefined;
  authorization: string | undefined;
  /** Bytes of a file that went out. */
  sent: number;
}

export interface FakeHub {
  /** `http://127.0.0.1:<port>`, for HF_ENDPOINT. */
  url: string;
  seen: SeenRequest[];
  repos: Map<string, FakeRepo>;
  /** May be changed at any time. */
  misbehaviour: Misbehaviour;
  /** Adds a repository, or a new state of one. */
  put(name: string, content: RepoContent): FakeRepo;
  /** Bytes of files that went out, to whomever. */
  sentBytes(): number;
  /** Ends all connections, as a router does that is switched off. */
  dropConnections(): void;
  close(): Promise<void>;
}

export async function fakeHub(
  repos: Record<string, RepoContent> = {},
  misbehaviour: Misbehaviour = {},
): Promise<FakeHub> {
  const addresses = new Map<string, Address>();
  const state = { misbehaviour, repos: new Map<string, FakeRepo>(), seen: [] as SeenRequest[], addresses };
  const cdn = http.createServer((request, response) => serveBytes(state, request, response));
  const hub = http.createServer((request, response) => serveHub(state, request, response, originOf(cdn)));
  await Promise.all([cdn, hub].map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))));
  const put = (name: string, content: RepoContent) => {
    const repo = toRepo(name, content);
    state.repos.set(name, repo);
    return repo;
  };
  for (const [name, content] of Object.entries(repos)) put(name, content);
  return {
    url: originOf(hub),
    seen: state.seen,
    repos: state.repos,
    get misbehaviour() {
      return state.misbehaviour;
    },
    set misbehaviour(value) {
      state.misbehaviour = value;
    },
    put,
    sentBytes: () => state.seen.reduce((sum, { sent }) => sum + sent, 0),
    dropConnections: () => {
      cdn.closeAllConnections();
      hub.closeAllConnections();
    },
    close: async () => {
      for (const server of [cdn, hub]) server.closeAllConnections();
      await Promise.all([cdn, hub].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

/** A temporary download address of a file. */
interface Address {
  repo: string;
  path: string;
  expiresAt: number;
}

interface State {
  misbehaviour: Misbehaviour;
  repos: Map<string, FakeRepo>;
  seen: SeenRequest[];
  addresses: Map<string, Address>;
}

function originOf(server: http.Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function note(state: State, host: SeenRequest['host'], request: http.IncomingMessage): SeenRequest {
  const { url = '', headers } = request;
  const seen = { host, path: url, range: headers.range, authorization: headers.authorization, sent: 0 };
  state.seen.push(seen);
  return seen;
}

function serveHub(state: State, request: http.IncomingMessage, response: http.ServerResponse, cdn: string): unknown {
  note(state, 'hub', request);
  const { misbehaviour } = state;
  const url = new URL(request.url ?? '/', 'http://hub');
  const isFile = url.pathname.includes('/resolve/');
  if (misbehaviour.silent) return undefined;
  if (isFile && misbehaviour.addresses !== undefined && misbehaviour.addresses-- <= 0) return undefined;
  if (misbehaviour.limited && misbehaviour.limited.times-- > 0) {
    const { seconds } = misbehaviour.limited;
    response
      .writeHead(429, { ratelimit: `"${isFile ? 'resolvers' : 'api'}";r=0;t=${seconds}` })
      .end('{"error":"too many"}');
    return;
  }
  if (misbehaviour.failing && misbehaviour.failing-- > 0) return response.writeHead(503).end('down');
  if (url.pathname === '/api/models') return listModels(state, url, response);
  const [, name = '', rest = ''] =
    /^\/(?:api\/models\/)?([^/]+\/[^/]+)(\/.*)?$/.exec(decodeURIComponent(url.pathname)) ?? [];
  const repo = state.repos.get(name);
  const refusal = refuse(repo, request, isFile);
  if (refusal) return response.writeHead(refusal.status, refusal.headers).end(JSON.stringify({ error: refusal.error }));
  if (repo === undefined) return undefined;
  if (isFile) return resolveFile(state, repo, rest, response, cdn);
  if (rest === '') return toJson(response, misbehaviour.model ?? modelInfo(repo, url.searchParams.has('blobs')));
  if (rest === '/refs')
    return toJson(response, { branches: [{ name: 'main', ref: 'refs/heads/main', targetCommit: repo.commit }] });
  if (rest.startsWith('/tree/')) return listTree(state, repo, url, response);
  return response.writeHead(404, errorHeaders('EntryNotFound')).end('{}');
}

interface Refusal {
  status: number;
  headers: Record<string, string>;
  error: string;
}

/** As on the hub, clients without a token cannot distinguish private models from missing ones. */
function refuse(repo: FakeRepo | undefined, request: http.IncomingMessage, isFile: boolean): Refusal | undefined {
  const token = request.headers.authorization?.replace('Bearer ', '');
  if (token === 'expired') {
    const error = 'Invalid credentials in Authorization header';
    return { status: 401, headers: { 'x-error-message': error }, error };
  }
  const hidden = repo === undefined || (repo.content.private && !repo.content.tokens?.includes(token ?? ''));
  if (hidden)
    return { status: token ? 404 : 401, headers: errorHeaders('RepoNotFound'), error: 'Repository not found' };
  if (repo.content.disabled) {
    const error = 'Access to this resource is disabled.';
    return { status: 403, headers: { 'x-error-message': error }, error };
  }
  if (!isFile || !repo.content.gated || repo.content.tokens?.includes(token ?? '')) return undefined;
  return {
    status: token ? 403 : 401,
    headers: errorHeaders('GatedRepo'),
    error: 'Access to this model is restricted.',
  };
}

function listModels(state: State, url: URL, response: http.ServerResponse): unknown {
  const query = url.searchParams;
  const text = query.get('search')?.toLowerCase() ?? '';
  const matching = [...state.repos.values()].filter(
    ({ name, content }) =>
      name.toLowerCase().includes(text) &&
      (!query.get('author') || name.startsWith(`${query.get('author')}/`)) &&
      (!query.get('pipeline_tag') || content.pipelineTag === query.get('pipeline_tag')) &&
      !content.private,
  );
  const sort = query.get('sort') as 'downloads' | 'likes';
  matching.sort((one, other) => (other.content[sort] ?? 0) - (one.content[sort] ?? 0));
  const limit = Number(query.get('limit') ?? 1000);
  const from = Number(Buffer.from(query.get('cursor') ?? '', 'base64').toString() || 0);
  const page = matching.slice(from, from + limit).map(listedModel);
  if (from + limit < matching.length) {
    query.set('cursor', Buffer.from(String(from + limit)).toString('base64'));
    response.setHeader('link', `<http://127.0.0.1/api/models?${query}>; rel="next"`);
  }
  return toJson(response, state.misbehaviour.list ?? page);
}

function listTree(state: State, repo: FakeRepo, url: URL, response: http.ServerResponse): unknown {
  const entries = state.misbehaviour.tree ?? treeEntries(repo);
  const size = state.misbehaviour.treePage ?? 1000;
  const from = Number(url.searchParams.get('cursor') ?? 0);
  if (from + size < entries.length) {
    response.setHeader('link', `</api/models/${repo.name}/tree/${repo.commit}?cursor=${from + size}>; rel="next"`);
  }
  return toJson(response, entries.slice(from, from + size));
}

/** The first reply has the digest, and leads to an address of another origin. */
function resolveFile(state: State, repo: FakeRepo, rest: string, response: http.ServerResponse, cdn: string): unknown {
  const [, path = ''] = /^\/resolve\/[^/]+\/(.+)$/.exec(rest) ?? [];
  const bytes = repo.files.get(path);
  if (bytes === undefined) return response.writeHead(404, errorHeaders('EntryNotFound')).end('Entry not found');
  if (!/\.gguf$/.test(path)) return response.end(bytes);
  const key = randomUUID();
  const { redirectTo, addressLifeMs = 60_000 } = state.misbehaviour;
  state.addresses.set(key, { repo: repo.name, path, expiresAt: Date.now() + addressLifeMs });
  response.writeHead(302, {
    location: redirectTo ?? `${cdn}/${key}?signature=secret`,
    'x-repo-commit': repo.commit,
    'x-linked-etag': `"${createHash('sha256').update(bytes).digest('hex')}"`,
    'x-linked-size': bytes.length,
  });
  return response.end();
}

function serveBytes(state: State, request: http.IncomingMessage, response: http.ServerResponse): unknown {
  const seen = note(state, 'cdn', request);
  const key = new URL(request.url ?? '/', 'http://cdn').pathname.slice(1);
  const address = state.addresses.get(key);
  const bytes = state.repos.get(address?.repo ?? '')?.files.get(address?.path ?? '');
  if (address === undefined || bytes === undefined) return response.writeHead(404).end();
  const { expired } = state.misbehaviour;
  const isRefused = expired !== undefined && expired > 0;
  if (isRefused) state.misbehaviour.expired = expired - 1;
  if (isRefused || Date.now() > address.expiresAt) return response.writeHead(403).end('<Error>AccessDenied</Error>');
  return sendBytes(bytes, address.path, request, response, seen, () => state.misbehaviour);
}

function toJson(response: http.ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
}
