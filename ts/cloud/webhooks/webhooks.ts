/** Calls of webhooks, signed as in the specification Standard Webhooks. */
import { createHmac } from 'node:crypto';
import net from 'node:net';
import { invalidValue } from '../../errors.js';
import { requestChecked } from '../../images/get-checked.js';
import { type ImageHosts, isLocalhost, isLoopback, mayConnect } from '../../images/public-address.js';

/** A call to make. */
export interface WebhookCall {
  /** Stays the same in all attempts. */
  id: string;
  org: string;
  url: string;
  /** Number of earlier attempts. */
  retries: number;
  payload(): object;
  /** Sends an e-mail instead of the call. Returns why that failed, or null. */
  mail?: (() => Promise<string | null>) | undefined;
}

export interface CallOutcome {
  error: string | null;
  /** Time of the next attempt in milliseconds since 1970; null: none. */
  due: number | null;
}

/** Stores the calls. */
export interface WebhookSource {
  /** Returns the call that has been due for the longest time. Skips the given organisations and calls. */
  due(exceptOrgs: readonly string[], exceptIds: readonly string[]): WebhookCall | undefined;
  called(id: string, outcome: CallOutcome): void;
}

export interface WebhookParts {
  source: WebhookSource;
  /** Returns the secret `WEBHOOK_KEY` of an organisation. @throws {ChasquiError} if there is none */
  keyOf(org: string): string;
  /** `loopback` also allows URLs of this machine, without TLS too. */
  hosts: Extract<ImageHosts, 'public' | 'loopback'>;
  onError(error: unknown): void;
}

export const KEY_NAME = 'WEBHOOK_KEY';
const KEY = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/;
const MAX_URL_LENGTH = 2048;
const MAX_CALLS = 16;
const MAX_CALLS_OF_ORG = 2;
const MAX_RETRIES = 10;
const MAX_PAUSE_S = 3600;
const TIMEOUT_MS = 15_000;

export class Webhooks {
  readonly #calls = new Map<string, string>();
  readonly #closing = new AbortController();

  constructor(private readonly parts: WebhookParts) {}

  /** @throws {ChasquiError} `invalid_value` for a URL that may not be called, or without a valid key. Errors name `field`. */
  check(org: string, webhook: string, field: string): string {
    const { hosts, keyOf } = this.parts;
    const problem = problemWith(webhook, hosts);
    if (problem !== null) throw invalidValue(`\`${field}\` ${problem}.`, field);
    readKey(keyOf(org), field);
    return new URL(webhook).href;
  }

  /** Calls what is due. */
  tick(): void {
    while (this.#calls.size < MAX_CALLS && !this.#closing.signal.aborted) {
      const orgs = [...this.#calls.values()];
      const busy = orgs.filter((org) => orgs.filter((each) => each === org).length >= MAX_CALLS_OF_ORG);
      const call = this.parts.source.due(busy, [...this.#calls.keys()]);
      if (call === undefined) return;
      this.#calls.set(call.id, call.org);
      this.#call(call)
        .catch((error) => this.parts.onError(error))
        .then(() => this.#calls.delete(call.id));
    }
  }

  /** Interrupted calls are repeated by the next process. */
  close(): void {
    this.#closing.abort();
  }

  async #call(call: WebhookCall): Promise<void> {
    const error = await this.#send(call).catch((failure: Error) => failure.message.slice(0, 200));
    if (this.#closing.signal.aborted) return;
    const { id, retries } = call;
    const isOver = error === null || retries >= MAX_RETRIES;
    const due = isOver ? null : Date.now() + Math.min(3 ** retries, MAX_PAUSE_S) * 1000;
    this.parts.source.called(id, { error, due });
  }

  /** Returns why the webhook failed, or null. */
  async #send({ id, org, url, payload, mail }: WebhookCall): Promise<string | null> {
    if (mail !== undefined) return mail();
    const { keyOf, hosts } = this.parts;
    const body = Buffer.from(JSON.stringify(payload()));
    const timestamp = String(Math.floor(Date.now() / 1000));
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': sign(keyOf(org), id, timestamp, body),
    };
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const reply = await requestChecked(new URL(url), { hosts, headers, body, maxRedirects: 0, signal });
    reply.on('error', () => undefined).destroy();
    const { statusCode = 0 } = reply;
    return statusCode >= 200 && statusCode < 300 ? null : `it replied with status ${statusCode}`;
  }
}

/** Returns `v1,` and the signature in base64. */
export function sign(key: string, id: string, timestamp: string, body: Buffer): string {
  const hmac = createHmac('sha256', readKey(key)).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/** Errors name `field`. */
function readKey(key: string, field: string | null = null): Buffer {
  const [, text] = KEY.exec(key) ?? [];
  if (text !== undefined) return Buffer.from(text, 'base64');
  const command = `echo "whsec_$(openssl rand -base64 32)" | chasqui secrets set ${KEY_NAME}`;
  const message = `The secret ${KEY_NAME} is not \`whsec_\` and 24 to 64 bytes in base64. Run: ${command}`;
  throw invalidValue(message, field);
}

/** Host names are resolved and checked at each call. */
function problemWith(text: string, hosts: WebhookParts['hosts']): string | null {
  if (text.length > MAX_URL_LENGTH || !URL.canParse(text)) return `is no URL of at most ${MAX_URL_LENGTH} characters`;
  const { protocol, username, password, hostname } = new URL(text);
  const isOwn = isLoopback(hostname) || isLocalhost(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isOwn && hosts === 'loopback')) return 'is no https URL';
  if (username !== '' || password !== '') return 'contains a user name or password';
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  const isAllowed = net.isIP(literal) !== 0 ? mayConnect(literal, hosts) : !isOwn || hosts === 'loopback';
  return isAllowed ? null : 'is an address of this machine or of a private network';
}
