/**
 * Kubernetes' own API with its database and its controllers, on ports of 127.0.0.1. There are no nodes: `markReady` says of
 * pods what a node would say, and nothing runs in them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { kubernetesFolder } from '../find-kubernetes.mjs';
import { freePort } from '../free-port.js';
import { until } from '../until.js';

const START_MS = 120_000;
const MAX_STARTS = 3;
/** Controllers that apps need. */
const CONTROLLERS = [
  ...['deployment-controller', 'replicaset-controller', 'garbage-collector-controller', 'disruption-controller'],
  ...['resourcequota-controller', 'namespace-controller', 'serviceaccount-controller'],
];
/** A token with all rights and a token without rights. */
const TOKENS = { admin: randomBytes(16).toString('hex'), nobody: randomBytes(16).toString('hex') };

export interface Known {
  metadata: { name: string; namespace?: string; generation?: number; resourceVersion?: string };
  // biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes have fields of every kind
  [field: string]: any;
}

export class RealCluster {
  readonly folder = fs.mkdtempSync(path.join(tmpdir(), 'chasqui-kubernetes-'));
  readonly #programs: { name: string; child: ChildProcess }[] = [];
  readonly #agent = new https.Agent({ keepAlive: true });
  #port = 0;

  /** Resolves when the API is ready and namespaces can be made. */
  static async start(): Promise<RealCluster> {
    for (let attempt = 1; ; attempt++) {
      const cluster = new RealCluster();
      try {
        await cluster.#start();
        return cluster;
      } catch (error) {
        const logs = cluster.#programs.map(({ name }) => `${name}: ${cluster.#lastLines(name)}`);
        await cluster.close();
        // Another process may have taken the port meanwhile.
        if (attempt === MAX_STARTS) throw new Error([String(error), ...logs].join('\n'));
      }
    }
  }

  /** For kubectl, and for programs that start it. Its contexts are `admin` and `nobody`. */
  get environment(): Record<string, string> {
    return { KUBECONFIG: this.#file('config'), KUBECACHEDIR: this.#file('cache') };
  }

  async close(): Promise<void> {
    const ended = this.#programs.map(({ child }) => {
      return child.exitCode !== null || child.signalCode !== null
        ? undefined
        : new Promise((resolve) => child.once('close', resolve));
    });
    for (const { child } of this.#programs) child.kill('SIGKILL');
    await Promise.all(ended);
    this.#agent.destroy();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** Asks the API as its administrator. Rejects where it refuses. */
  async ask(method: string, url: string, body?: object, type = 'application/json'): Promise<Known> {
    const { status, text } = await this.#send(method, url, body, type);
    if (status >= 200 && status < 300) return JSON.parse(text) as Known;
    throw new Error(`${method} ${url}: ${status} ${text}`);
  }

  /** Null: there is none. */
  async find(url: string): Promise<Known | null> {
    const { status, text } = await this.#send('GET', url);
    if (status !== 200 && status !== 404) throw new Error(`${url}: ${status} ${text}`);
    return status === 200 ? (JSON.parse(text) as Known) : null;
  }

  async list(url: string): Promise<Known[]> {
    return (await this.ask('GET', url)).items;
  }

  /** `restricted` lets in only pods that follow the strictest of Kubernetes' standards. */
  async makeNamespace(name: string): Promise<void> {
    const labels = {
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    };
    await this.ask('POST', '/api/v1/namespaces', { metadata: { name, labels } });
  }

  /** Says of each pod of a namespace that it is ready, as soon as it is there. Returns what ends that. */
  markReady(namespace: string): () => Promise<void> {
    let isOver = false;
    const mark = async (): Promise<void> => {
      while (!isOver) {
        const pods = await this.list(`/api/v1/namespaces/${namespace}/pods`);
        for (const { metadata, status } of pods) {
          if (status.phase !== 'Running') await this.#markReady(namespace, metadata.name);
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    const marked = mark();
    return () => {
      isOver = true;
      return marked;
    };
  }

  async #markReady(namespace: string, pod: string): Promise<void> {
    const at = new Date().toISOString();
    const ended = {
      terminated: { exitCode: 0, startedAt: at, finishedAt: at, containerID: 'none://0', reason: 'Completed' },
    };
    const image = { image: 'chasqui:1', imageID: '', restartCount: 0 };
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at }],
      initContainerStatuses: [{ name: 'fetch', ready: true, state: ended, ...image }],
      containerStatuses: [{ name: 'runner', ready: true, state: { running: { startedAt: at } }, ...image }],
    };
    const url = `/api/v1/namespaces/${namespace}/pods/${pod}/status`;
    // It may be gone by now.
    await this.#send('PATCH', url, { status }, 'application/merge-patch+json');
  }

  async #start(): Promise<void> {
    const [client, peer, port] = await Promise.all([freePort(), freePort(), freePort()]);
    this.#port = port;
    const database = `http://127.0.0.1:${client}`;
    const own = `http://127.0.0.1:${peer}`;
    this.#run('etcd', [
      ...[`--data-dir=${this.#file('etcd')}`, '--unsafe-no-fsync', `--listen-client-urls=${database}`],
      ...[`--advertise-client-urls=${database}`, `--listen-peer-urls=${own}`, `--initial-advertise-peer-urls=${own}`],
      `--initial-cluster=default=${own}`,
    ]);
    this.#writeKeys();
    this.#run('kube-apiserver', [
      ...[`--etcd-servers=${database}`, '--bind-address=127.0.0.1', `--secure-port=${port}`],
      // The advertised address is not used, but it must not be a loopback address.
      ...['--advertise-address=10.0.0.1', '--endpoint-reconciler-type=none', '--service-cluster-ip-range=10.0.0.0/24'],
      ...[`--cert-dir=${this.#file('certificates')}`, `--token-auth-file=${this.#file('tokens')}`],
      ...['--authorization-mode=RBAC', '--service-account-issuer=https://kubernetes.default.svc'],
      `--service-account-key-file=${this.#file('accounts.pub')}`,
      `--service-account-signing-key-file=${this.#file('accounts.key')}`,
    ]);
    await until(() => this.#isReady(), 'the API to be ready', START_MS);
    this.#run('kube-controller-manager', [
      ...[`--kubeconfig=${this.#file('config')}`, '--leader-elect=false', '--secure-port=0'],
      ...[`--controllers=${CONTROLLERS.join(',')}`, `--service-account-private-key-file=${this.#file('accounts.key')}`],
    ]);
    await until(() => this.#hasAccounts(), 'the controllers to work', START_MS);
  }

  #run(name: string, args: readonly string[]): void {
    const log = fs.openSync(this.#file(`${name}.log`), 'w');
    const program = path.join(kubernetesFolder() ?? '', name);
    this.#programs.push({ name, child: spawn(program, args, { stdio: ['ignore', log, log] }) });
    fs.closeSync(log);
  }

  #writeKeys(): void {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    fs.writeFileSync(this.#file('accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
    fs.writeFileSync(this.#file('accounts.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    const { admin, nobody } = TOKENS;
    fs.writeFileSync(this.#file('tokens'), `${admin},admin,1,"system:masters"\n${nobody},nobody,2\n`);
    const server = `https://127.0.0.1:${this.#port}`;
    const names = Object.keys(TOKENS) as (keyof typeof TOKENS)[];
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'admin',
      clusters: [{ name: 'real', cluster: { server, 'certificate-authority': this.#certificate } }],
      users: names.map((name) => ({ name, user: { token: TOKENS[name] } })),
      contexts: names.map((name) => ({ name, context: { cluster: 'real', user: name, namespace: 'models' } })),
    };
    fs.writeFileSync(this.#file('config'), JSON.stringify(config));
  }

  /** The API makes it when it is started, and signs it itself. */
  get #certificate(): string {
    return this.#file('certificates/apiserver.crt');
  }

  async #isReady(): Promise<boolean> {
    const ended = this.#programs.find(({ child }) => child.exitCode !== null);
    if (ended !== undefined) throw new Error(`${ended.name} has ended`);
    if (!fs.existsSync(this.#certificate)) return false;
    return this.#send('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async #hasAccounts(): Promise<boolean> {
    await this.#isReady();
    return (await this.find('/api/v1/namespaces/default/serviceaccounts/default')) !== null;
  }

  #send(
    method: string,
    url: string,
    body?: object,
    type = 'application/json',
  ): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${TOKENS.admin}`, 'content-type': type };
    const ca = fs.readFileSync(this.#certificate);
    const options = { method, headers, ca, agent: this.#agent, host: '127.0.0.1', port: this.#port, path: url };
    return new Promise((resolve, reject) => {
      const request = https.request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.once('error', reject);
      request.end(body && JSON.stringify(body));
    });
  }

  #file(name: string): string {
    return path.join(this.folder, name);
  }

  #lastLines(program: string): string {
    return fs
      .readFileSync(this.#file(`${program}.log`), 'utf8')
      .split('\n')
      .slice(-20)
      .join('\n');
  }
}
