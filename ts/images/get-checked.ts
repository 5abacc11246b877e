/** Fetches from untrusted addresses. The address of every connection, after redirects too, is checked first. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { hostsOnTheWay, type ImageHosts, mayConnect } from './public-address.js';
import { checkedLookup, NoAddress, type Resolve, resolverFor } from './resolve-host.js';

export interface CheckedRequest {
  hosts: ImageHosts;
  headers: http.OutgoingHttpHeaders;
  maxRedirects: number;
  signal: AbortSignal;
  /** Sent with POST; default: a GET without a body. */
  body?: Buffer;
  /** Default: chosen by `hosts`. */
  resolve?: Resolve | undefined;
}

/** A redirect that is not followed, for the reason in the message. */
export class BadRedirect extends Error {}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_URL_LENGTH = 8192;
const MAX_HEADER_BYTES = 16 * 1024;
const IDLE_TIMEOUT_MS = 300_000;

/** Returns the reply, with any status. Rejects with `BadRedirect`, `NoAddress` or an error of Node. */
export async function requestChecked(first: URL, options: CheckedRequest): Promise<http.IncomingMessage> {
  let url = first;
  for (let redirects = 0; redirects <= options.maxRedirects; redirects += 1) {
    const reply = await request(url, { ...options, hosts: hostsOnTheWay(first.hostname, url.hostname, options.hosts) });
    const { location } = reply.headers;
    if (!REDIRECTS.has(reply.statusCode ?? 0) || location === undefined) return reply;
    reply.destroy();
    const next = openAddress(location, url.href);
    if (next === null) throw new BadRedirect('it was redirected to what is no open http or https address');
    url = next;
  }
  throw new BadRedirect(`it was redirected more than ${options.maxRedirects} times`);
}

/** Returns null also for a URL with credentials. */
function openAddress(text: string, base?: string): URL | null {
  const url = readAddress(text, base);
  return url === null || url.username !== '' || url.password !== '' ? null : url;
}

/** Returns null unless it is an http or https URL. */
export function readAddress(text: string, base?: string): URL | null {
  const url = text.length <= MAX_URL_LENGTH && URL.canParse(text, base) ? new URL(text, base) : null;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : null;
}

/** Connections are not reused, because a reused one would not be checked. */
function request(url: URL, options: CheckedRequest): Promise<http.IncomingMessage> {
  const { hosts, headers, signal, body, resolve = resolverFor(hosts) } = options;
  const { request: send } = url.protocol === 'https:' ? https : http;
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolveReply, reject) => {
    const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (net.isIP(literal) !== 0 && !mayConnect(literal, hosts)) throw new NoAddress();
    const lookup = checkedLookup(resolve, hosts, signal);
    const limits = { maxHeaderSize: MAX_HEADER_BYTES, timeout: IDLE_TIMEOUT_MS };
    const sent = send(url, { method, agent: false, headers, lookup, signal, ...limits });
    sent.once('response', resolveReply).on('error', reject).end(body);
    sent.once('timeout', () => sent.destroy(new Error('its server has said nothing for five minutes')));
  });
}
