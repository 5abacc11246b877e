/** Checks network addresses before images, and models of a cloud, are fetched from them. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/**
 * `public`: the internet only. `loopback`: also this machine, if the URL itself names it (127.0.0.1, localhost). `any`: also
 * private networks and all others.
 */
export type ImageHosts = 'public' | 'loopback' | 'any';

/** A public address of the host of Azure virtual machines. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * Returns the rule for the host of a URL and for its redirects. Only URLs that name this machine may reach it: a public host must
 * not lead there, neither by a redirect nor by a name that resolves to loopback.
 */
export function hostsOnTheWay(first: string, next: string, hosts: ImageHosts): ImageHosts {
  return hosts === 'loopback' && !(namesLoopback(first) && namesLoopback(next)) ? 'public' : hosts;
}

/** Whether the host of a URL names this machine. */
function namesLoopback(hostname: string): boolean {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  return isLocalhost(hostname) || (ipaddr.isValid(literal) && ipaddr.parse(literal).range() === 'loopback');
}

/** Whether a host, as in URLs or options, is `localhost` or a loopback address, IPv4-mapped ones included. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost') return true;
  return ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback';
}

/** `localhost` is loopback without a lookup (RFC 6761). */
export function isLocalhost(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/**
 * Refuses private, link-local and unspecified addresses, addresses that embed another one (IPv4-mapped, NAT64, 6to4, Teredo),
 * reserved and unassigned ones. Also refuses this machine's own addresses (`own`), even public ones: its servers may trust
 * local connections.
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

/** Not cached: networks change. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

/** All assigned global unicast addresses. */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return address.match(ipaddr.IPv6.parse('2000::'), 3);
}
