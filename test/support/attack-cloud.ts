/** Three organisations attack a cloud while a client of a fourth one calls its own app. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import type { ChasquiError } from '../../ts/errors.js';
import { TestCloud } from './cloud.js';

export interface AttackReport {
  /** Requests of the bystander. */
  sent: number;
  /** Replies other than complete ones. */
  lost: string[];
  /** Milliseconds to the first byte: the 99th percentile without and with attacks. */
  unloadedMs: number;
  loadedMs: number;
  /** How often each attack ran, and its different outcomes. */
  attacks: Record<string, { runs: number; outcomes: string[] }>;
}

const PACE_MS = 200;
const ENDLESS =
  '{% set ns = namespace(t="xxxxxxxx") %}{% for i in range(30) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}';
const APP = { model: 'demo', context: 512, auth: 'public' };
const SMALL = { ...APP, machine: { memory: '260Mi' } };

interface Attacker {
  org: string;
  url: string;
  key: string;
  /** The state of the newest revision once it has ended or is active. */
  settled(): Promise<string>;
  deploy(options: object, message?: string): Promise<unknown>;
}

const deployment = (options: object, message?: string) => (attacker: Attacker) => attacker.deploy(options, message);

/** Each resolves with a word about the outcome, or rejects with the refusal. */
const ATTACKS: Readonly<Record<string, (attacker: Attacker) => Promise<unknown>>> = {
  'tiny machine': deployment({ ...APP, machine: { memory: '1Mi' } }),
  'endless chat template': async (attacker) => {
    await attacker.deploy({ ...SMALL, chatTemplate: ENDLESS });
    return attacker.settled();
  },
  'huge cache': deployment({ ...SMALL, cacheRamMiB: 200_000 }),
  'huge cache without a limit': deployment({ ...APP, cacheRamMiB: 200_000 }),
  'many GPUs': deployment({ ...APP, machine: { gpu: 64 } }),
  'all memory': deployment({ ...APP, machine: { memory: '64Gi' }, scale: { min: 1 } }),
  'terminal escapes': deployment({ ...SMALL, alias: 'a' }, '\u001b[2J\u001b[H forged'),
  'the token of the operator': deployment({ ...SMALL, secrets: ['HF_TOKEN'] }),
  'calls of the bystander app': async ({ url, key }) => {
    const headers = { authorization: `Key ${key}` };
    return (await fetch(`${url}/bystander/chat/v1/models`, { headers })).status;
  },
  'silent sockets': async ({ url }) => {
    const sockets = Array.from({ length: 300 }, () => net.connect(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => undefined);
    await sleep(1000);
    for (const socket of sockets) socket.destroy();
    return 'held';
  },
  'large body without a key': ({ url }) => send(url, `POST /api/cloud/v1/keys HTTP/1.1\r\n${LARGE}`, 60_000),
  'slow upload': ({ url, key }) => {
    return send(url, `PUT /api/cloud/v1/models/${'0'.repeat(64)} HTTP/1.1\r\nAuthorization: Key ${key}\r\n${LARGE}`);
  },
};

const LARGE = `Host: x\r\nContent-Type: application/octet-stream\r\nContent-Length: ${2 ** 31}\r\n\r\nGGUF`;

/** The status of the reply, or `closed` without one. The body stays incomplete. */
function send(url: string, text: string, patienceMs = 2000): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      resolve(data.toString('latin1').slice(9, 12));
      socket.destroy();
    });
    socket.once('close', () => resolve('closed'));
  });
}

/** Starts a cloud with quotas for the attackers. */
export async function attackCloud(ms: number): Promise<AttackReport> {
  const quotas = ['a', 'b', 'c'].flatMap((org) =>
    ['memory=600', 'runners=1', 'apps=2'].map((each) => `${org}:${each}`),
  );
  const cloud = await TestCloud.start(quotas.flatMap((quota) => ['--org-quota', quota]));
  const report: AttackReport = { sent: 0, lost: [], unloadedMs: 0, loadedMs: 0, attacks: {} };
  try {
    await cloud.client.post('/apps/bystander/chat/revisions', {
      options: { ...APP, auth: 'private', bearer: true, slots: 4, scale: { min: 1 } },
    });
    const { key } = await cloud.client.post<{ key: string }>('/keys', { org: 'bystander' });
    const one = () => callOnce(cloud.url, key, report);
    await one();
    report.unloadedMs = await calling(one, Math.min(ms / 2, 30_000));
    const ending = new AbortController();
    const attackers = ['a', 'b', 'c'].map((org) => attackAs(cloud, org, report, ending.signal));
    const haveAllRun = () => Object.keys(report.attacks).length === Object.keys(ATTACKS).length;
    report.loadedMs = await calling(one, ms, haveAllRun);
    ending.abort();
    await Promise.all(attackers);
  } finally {
    await cloud.stop();
  }
  return report;
}

async function attackAs(cloud: TestCloud, org: string, report: AttackReport, signal: AbortSignal): Promise<void> {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org, scopes: ['call', 'deploy', 'read'] });
  const client = await CloudClient.of({ url: cloud.url, key });
  const deploy = (options: object, message?: string) =>
    client
      .post<{ state: string }>(`/apps/${org}/app/revisions`, { options, ...(message && { message }) })
      .then(({ state }) => state);
  const settled = async (): Promise<string> => {
    for (;;) {
      const state = (await client.app(org, 'app')).revisions.at(-1)?.state ?? '';
      if (['failed', 'active', 'retired'].includes(state) || signal.aborted) return state;
      await sleep(PACE_MS);
    }
  };
  const attacker = { org, url: cloud.url, key, settled, deploy };
  for (let turn = org.charCodeAt(0); !signal.aborted; turn++) {
    const [name, attack] = Object.entries(ATTACKS)[turn % Object.keys(ATTACKS).length] as [string, never];
    const outcome = await (attack as (typeof ATTACKS)[string])(attacker).catch((error: ChasquiError) => error.code);
    if (signal.aborted) return;
    report.attacks[name] ??= { runs: 0, outcomes: [] };
    const entry = report.attacks[name];
    entry.runs += 1;
    if (!entry.outcomes.includes(String(outcome))) entry.outcomes.push(String(outcome));
  }
}

/** Calls at a steady pace, whatever the replies do. Returns the 99th percentile of the times. */
async function calling(one: () => Promise<number>, ms: number, mayEnd = () => true): Promise<number> {
  const times: Promise<number>[] = [];
  const end = performance.now() + ms;
  while (performance.now() < end || !mayEnd()) {
    times.push(one());
    await sleep(PACE_MS);
  }
  const sorted = (await Promise.all(times)).sort((a, b) => a - b);
  return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] as number);
}

/** Returns the time to the first byte of a streamed completion. */
async function callOnce(url: string, key: string, report: AttackReport): Promise<number> {
  const began = performance.now();
  let first = Number.POSITIVE_INFINITY;
  report.sent += 1;
  try {
    const reply = await fetch(`${url}/bystander/chat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        ...{ model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 8, stream: true },
      }),
    });
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of reply.body as ReadableStream<Uint8Array>) {
      if (text === '') first = performance.now() - began;
      text += decoder.decode(part, { stream: true });
    }
    if (reply.status !== 200 || !text.endsWith('data: [DONE]\n\n')) report.lost.push(`${reply.status} ${text}`);
  } catch (error) {
    report.lost.push((error as Error).message);
  }
  return first;
}
