/** Resolves host names to allowed addresses. */
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type ImageHosts, isLocalhost, mayConnect } from './public-address.js';

/** A host has no address, or none that is allowed; clients must not learn which. */
export class NoAddress extends Error {
  constructor() {
    super('no address that may be connected to');
  }
}

export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly dns.LookupAddress[]>;

/**
 * For `net.connect`, which connects only to the addresses that this function has checked: DNS rebinding has no effect. Literal
 * addresses are not looked up; see `mayConnect`.
 */
export function checkedLookup(resolve: Resolve, hosts: ImageHosts, signal: AbortSignal): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, signal).then(
      (found) => {
        const allowed = found.filter(({ address }) => mayConnect(address, hosts));
        const [first] = allowed;
        if (first === undefined) done(new NoAddress(), '', 0);
        else if (options.all) done(null, allowed);
        else done(null, first.address, first.family);
      },
      (error) => done(error, '', 0),
    );
  };
}

const LOOPBACK: readonly dns.LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The system's resolver also reads `/etc/hosts`, but occupies a thread of libuv's pool. */
export function resolverFor(hosts: ImageHosts): Resolve {
  return hosts === 'any' ? (hostname) => dns.promises.lookup(hostname, { all: true }) : resolveByDns;
}

/**
 * Does not use libuv's small thread pool: a name server that never answers must not block file access.
 */
async function resolveByDns(hostname: string, signal: AbortSignal): Promise<readonly dns.LookupAddress[]> {
  if (isLocalhost(hostname)) return LOOPBACK;
  const resolver = new dns.promises.Resolver();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [
      ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
