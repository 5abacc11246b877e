/**
 * As much of a Kubernetes API as kubectl needs to apply, list, scale, roll back and delete, and to show logs: discovery,
 * server-side apply with owners of fields, patches, selectors, and faults on demand. It keeps what it is given and runs none of it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

interface Kind {
  group: string;
  version: string;
  plural: string;
  kind: string;
}

const CORE: readonly Kind[] = [
  { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount' },
  { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' },
  { group: '', version: 'v1', plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' },
  { group: '', version: 'v1', plural: 'services', kind: 'Service' },
  { group: '', version: 'v1', plural: 'pods', kind: 'Pod' },
  { group: '', version: 'v1', plural: 'events', kind: 'Event' },
  { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
  { group: 'apps', version: 'v1', plural: 'replicasets', kind: 'ReplicaSet' },
  { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget' },
  { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies', kind: 'NetworkPolicy' },
];
const ADD_ONS: readonly Kind[] = [
  { group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes', kind: 'HTTPRoute' },
];

export interface Stored {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec?: Record<string, unknown>;
  [field: string]: unknown;
}

export class FakeCluster {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'chasqui-cluster-'));
  /** By kind and name, such as `Deployment/acme-chat`. */
  readonly objects = new Map<string, Stored>();
  /** Methods and paths in the order of the requests. */
  readonly requests: string[] = [];
  /** Objects (`Kind/name`) with fields of another manager. Applying them without force is a conflict. */
  readonly owned = new Set<string>();
  /** Replies to the next mutating requests. */
  failures: { status: number; reason: string; message: string }[] = [];
  /** Logs by pod name. The key `<pod>/fetch` has the log of the init container. */
  readonly logs = new Map<string, string>();
  /** Told of objects that were changed other than by applying them, as the cluster's own programs would be. */
  onChange: ((key: string, object: Stored) => void) | null = null;
  /** An API of another program that is not there, as `group/version`; null: none. */
  brokenGroup: string | null = null;
  readonly #kinds: readonly Kind[];
  readonly #server = http.createServer((request, response) => void this.#answer(request, response));

  private constructor(addOns: boolean) {
    this.#kinds = addOns ? [...CORE, ...ADD_ONS] : CORE;
  }

  static async start({ addOns = true } = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(addOns);
    await new Promise<void>((resolve) => cluster.#server.listen(0, '127.0.0.1', resolve));
    const { port } = cluster.#server.address() as net.AddressInfo;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'fake', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'nobody', user: {} }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'nobody', namespace: 'models' } }],
      'current-context': 'fake',
    };
    writeFileSync(cluster.kubeconfig, JSON.stringify(config));
    return cluster;
  }

  get kubeconfig(): string {
    return path.join(this.folder, 'config');
  }

  /** For kubectl, and for programs that start it. Discovery is cached in the folder. */
  get environment(): Record<string, string> {
    return { KUBECONFIG: this.kubeconfig, KUBECACHEDIR: path.join(this.folder, 'cache') };
  }

  /** Has nothing but the given objects, and forgets what happened. */
  reset(objects: readonly [string, Stored][]): void {
    for (const kept of [this.objects, this.logs, this.owned]) kept.clear();
    for (const [key, object] of objects) this.objects.set(key, object);
    this.requests.length = 0;
    this.failures = [];
    this.onChange = null;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://cluster');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.method !== 'GET') this.requests.push(`${request.method} ${url.pathname}`);
    const send = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    // The schemas that kubectl would check against, as a message without fields.
    if (url.pathname === '/openapi/v2') return void response.end();
    if (url.pathname === `/apis/${this.brokenGroup}`) return send(503, failure(503, 'ServiceUnavailable', 'not there'));
    const discovered = request.method === 'GET' ? this.#discover(url.pathname) : undefined;
    if (discovered !== undefined) return send(200, discovered);
    const at = this.#find(url.pathname);
    if (at === null) return send(404, failure(404, 'NotFound', `nothing at ${url.pathname}`));
    const fault = request.method === 'GET' ? undefined : this.failures.shift();
    if (fault) return send(fault.status, failure(fault.status, fault.reason, fault.message));
    if (request.method === 'GET' && at.name === null) {
      const selector = url.searchParams.get('labelSelector') ?? '';
      return send(200, this.#list(at.kind, selector));
    }
    const key = `${at.kind.kind}/${at.name}`;
    const kind = request.headers['content-type'] ?? '';
    const before = this.objects.get(key);
    if (at.subresource === 'log') return void response.end(this.#log(at.name ?? '', url.searchParams));
    if (at.subresource === 'scale') return send(200, this.#scale(before, request.method === 'GET' ? null : body));
    if (request.method === 'PATCH' && before !== undefined && !kind.startsWith('application/apply-patch')) {
      this.#changed(key, patched(before, JSON.parse(body)));
      return send(200, this.objects.get(key));
    }
    if (request.method === 'PATCH') {
      if (this.owned.has(key) && url.searchParams.get('force') !== 'true') {
        return send(
          409,
          failure(409, 'Conflict', `Apply failed with 1 conflict: conflict with "autoscaler": .spec.replicas`),
        );
      }
      const object = JSON.parse(body) as Stored;
      if (!url.searchParams.has('dryRun')) this.objects.set(key, object);
      return send(200, object);
    }
    const object = this.objects.get(key);
    if (object === undefined) return send(404, failure(404, 'NotFound', `${at.kind.plural} "${at.name}" not found`));
    if (request.method === 'DELETE') this.objects.delete(key);
    return send(200, object);
  }

  #discover(path: string): unknown {
    const groups = [...new Set(this.#kinds.map(({ group }) => group))].filter((group) => group !== '');
    if (path === '/version') return { major: '1', minor: '32', gitVersion: 'v1.32.0' };
    if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
    const broken = this.brokenGroup === null ? [] : [groupOf(...(this.brokenGroup.split('/') as [string, string]))];
    if (path === '/apis') {
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...groups.map((group) => groupOf(group)), ...broken] };
    }
    const [, group = '', version] = /^\/(?:api|apis\/([^/]+))\/(v1)$/.exec(path) ?? [];
    const kinds = this.#kinds.filter((each) => each.group === group && each.version === version);
    if (kinds.length === 0) return undefined;
    const groupVersion = group === '' ? 'v1' : `${group}/v1`;
    const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update'];
    return {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion,
      resources: kinds.flatMap(({ plural, kind }) => {
        const own = { name: plural, singularName: kind.toLowerCase(), namespaced: true, kind, verbs };
        const scale = { name: `${plural}/scale`, singularName: '', namespaced: true, kind: 'Scale', verbs };
        return plural === 'deployments' ? [own, { ...scale, group: 'autoscaling', version: 'v1' }] : [own];
      }),
    };
  }

  #find(path: string): { kind: Kind; name: string | null; subresource: string | null } | null {
    const [, group = '', plural, name = null, subresource = null] =
      /^\/(?:api|apis\/([^/]+))\/v1\/namespaces\/models\/([^/]+)(?:\/([^/]+)(?:\/(scale|log))?)?$/.exec(path) ?? [];
    const kind = this.#kinds.find((each) => each.group === group && each.plural === plural);
    return kind === undefined ? null : { kind, name, subresource };
  }

  /** Each line a second after the one before it. */
  #log(pod: string, parameters: URLSearchParams): string {
    const text = this.logs.get(parameters.get('container') === 'fetch' ? `${pod}/fetch` : pod) ?? '';
    const lines = text.split('\n').slice(0, -1);
    const last = lines.slice(-Number(parameters.get('tailLines') ?? lines.length));
    if (parameters.get('timestamps') !== 'true') return last.map((line) => `${line}\n`).join('');
    const at = (line: number) => new Date(1_800_000_000_000 + line * 1000).toISOString().replace('Z', '000000Z');
    return last.map((line, number) => `${at(number)} ${line}\n`).join('');
  }

  /** The number of pods as a resource of its own, read or changed. */
  #scale(object: Stored | undefined, body: string | null): unknown {
    if (object === undefined) return failure(404, 'NotFound', 'there is nothing to scale');
    const { name } = object.metadata;
    if (body !== null) {
      const { spec } = JSON.parse(body) as Stored;
      this.#changed(`${object.kind}/${name}`, patched(object, { spec: { replicas: spec?.replicas } }));
    }
    const { replicas = 1 } = this.objects.get(`${object.kind}/${name}`)?.spec ?? {};
    const metadata = { name, namespace: 'models' };
    return { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata, spec: { replicas }, status: { replicas } };
  }

  #changed(key: string, object: Stored): void {
    this.objects.set(key, object);
    this.onChange?.(key, object);
  }

  #list(kind: Kind, selector: string): unknown {
    const wanted = selector
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split(/==?/));
    const items = [...this.objects.values()].filter(
      (object) =>
        object.kind === kind.kind && wanted.every(([label = '', value]) => object.metadata.labels?.[label] === value),
    );
    return { kind: `${kind.kind}List`, apiVersion: kind.group === '' ? 'v1' : `${kind.group}/v1`, metadata: {}, items };
  }
}

/** Applies a JSON patch (replace only) or a merge patch. */
function patched(object: Stored, patch: unknown): Stored {
  if (!Array.isArray(patch)) return merged(object, patch) as Stored;
  const result = structuredClone(object) as unknown as Record<string, unknown>;
  for (const { op, path: at, value } of patch as { op: string; path: string; value: unknown }[]) {
    const names = at.split('/').slice(1);
    const last = names.pop() ?? '';
    const parent = names.reduce((each, name) => each[name] as Record<string, unknown>, result);
    if (op === 'remove') delete parent[last];
    else parent[last] = value;
  }
  return result as unknown as Stored;
}

function merged(before: unknown, patch: unknown): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object';
  if (!isMap(patch) || Array.isArray(patch)) return patch;
  const result = isMap(before) ? { ...before } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

function groupOf(name: string, version = 'v1'): unknown {
  const only = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [only], preferredVersion: only };
}

function failure(code: number, reason: string, message: string): unknown {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message };
}
