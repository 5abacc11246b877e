/** Fetches from addresses that others name: that of every connection, after redirects too, is checked before it is made. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { hostsOnTheWay, type ImageHosts, mayConnect } from '../images/public-address.js';
import { checkedLookup, NoAddress, resolverFor } from '../images/resolve-host.js';

export interface CheckedRequest {
  hosts: ImageHosts;
  headers: http.OutgoingHttpHeaders;
  signal: AbortSignal;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Both as `fetch` has them. */
const MAX_REDIRECTS = 20;
const IDLE_TIMEOUT_MS = 300_000;

/** The reply, whatever its status is. */
export async function getChecked(first: URL, options: CheckedRequest): Promise<http.IncomingMessage> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const reply = await request(url, { ...options, hosts: hostsOnTheWay(first.hostname, url.hostname, options.hosts) });
    const { location } = reply.headers;
    if (!REDIRECTS.has(reply.statusCode ?? 0) || location === undefined) return reply;
    reply.destroy();
    url = redirected(location, url);
  }
  throw new Error('its redirects do not end');
}

function redirected(location: string, from: URL): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Error('it was redirected to what is no http or https address');
}

/** Each request gets a connection of its own, so that no connection is used again unchecked. */
function request(url: URL, { hosts, headers, signal }: CheckedRequest): Promise<http.IncomingMessage> {
  const { get } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (net.isIP(literal) !== 0 && !mayConnect(literal, hosts)) throw new NoAddress();
    const lookup = checkedLookup(resolverFor(hosts), hosts, signal);
    const sent = get(url, { agent: false, headers, lookup, signal, timeout: IDLE_TIMEOUT_MS });
    sent.once('response', resolve).on('error', reject);
    sent.once('timeout', () => sent.destroy(new Error('its server has said nothing for five minutes')));
  });
}
