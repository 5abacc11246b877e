/** Which network addresses images, and models of a cloud, may be fetched from. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/**
 * `public`: the internet only. `loopback`: this machine too, where an address says by itself that it means this
 * machine. `any`: private networks and all the rest as well.
 */
export type ImageHosts = 'public' | 'loopback' | 'any';

/** This public address belongs to the host that a virtual machine of Azure runs on. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * What holds for a host that a request names, or that redirects from there lead to. This machine's own servers are for
 * whoever names them: a public one must not lead there, neither by a redirect nor by a name that resolves to loopback.
 */
export function hostsOnTheWay(first: string, next: string, hosts: ImageHosts): ImageHosts {
  return hosts === 'loopback' && !(namesLoopback(first) && namesLoopback(next)) ? 'public' : hosts;
}

/** Whether the host of an address means this machine to whoever reads it. */
function namesLoopback(hostname: string): boolean {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  return isLocalhost(hostname) || (ipaddr.isValid(literal) && ipaddr.parse(literal).range() === 'loopback');
}

/** RFC 6761 has `localhost` mean loopback without asking anyone. */
export function isLocalhost(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/**
 * What is not plainly public is refused: not only private, link-local and unspecified addresses, but also forms that
 * carry another address within them (IPv4-mapped, NAT64, 6to4, Teredo) and whatever is reserved or not assigned. So are
 * this machine's own addresses (`own`), public ones too: behind them is what listens for its own network.
 */
export function mayConnect(address: string, hosts: ImageHosts, own: () => readonly string[] = ownAddresses): boolean {
  if (hosts === 'any') return true;
  if (!ipaddr.isValid(address) || PLATFORM_ADDRESSES.has(address)) return false;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'loopback') return hosts === 'loopback';
  if (range !== 'unicast' || (parsed instanceof ipaddr.IPv6 && !isGlobalUnicast(parsed))) return false;
  const normalized = parsed.toNormalizedString();
  return own().every((each) => !ipaddr.isValid(each) || ipaddr.parse(each).toNormalizedString() !== normalized);
}

/** Asked for anew each time: networks come and go. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

/** 2000::/3 is all that has been given out. */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return address.match(ipaddr.IPv6.parse('2000::'), 3);
}
