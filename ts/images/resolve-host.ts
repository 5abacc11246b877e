/** Host names → the addresses that an image, or a model, may be fetched from. */
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type ImageHosts, isLocalhost, mayConnect } from './public-address.js';

/** A host has no address, or none that may be connected to. Which of them is not for who asked to know. */
export class NoAddress extends Error {
  constructor() {
    super('no address that may be connected to');
  }
}

/** All addresses of a host name. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly dns.LookupAddress[]>;

/**
 * For `net.connect`: what it gets is checked, and it connects to nothing else, so a name that resolves differently the
 * next time gains nothing. A literal address is never looked up; see `mayConnect`.
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

export function resolverFor(hosts: ImageHosts): Resolve {
  return hosts === 'any' ? resolveAsTheSystemDoes : resolveByDns;
}

/** Knows `/etc/hosts` and local names too, at the price of a thread of libuv's pool for as long as it takes. */
function resolveAsTheSystemDoes(hostname: string): Promise<readonly dns.LookupAddress[]> {
  return dns.promises.lookup(hostname, { all: true });
}

/**
 * Off libuv's small thread pool, where files are read and other names looked up: a name server that never answers must not
 * hold these up.
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
