/** Which network addresses pictures may be fetched from. */
import ipaddr from 'ipaddr.js';

/** `public`: the internet only. `loopback`: this machine too. `any`: private networks and all the rest as well. */
export type ImageHosts = 'public' | 'loopback' | 'any';

/** In public space, but it answers for the host that a virtual machine of Azure runs on. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * What is not plainly public is refused: not only private, link-local and unspecified addresses, but also forms that
 * carry another address within them (IPv4-mapped, NAT64, 6to4, Teredo) and whatever is reserved or not assigned.
 */
export function mayConnect(address: string, hosts: ImageHosts): boolean {
  if (hosts === 'any') return true;
  if (!ipaddr.isValid(address) || PLATFORM_ADDRESSES.has(address)) return false;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'loopback') return hosts === 'loopback';
  return range === 'unicast' && (parsed instanceof ipaddr.IPv4 || isGlobalUnicast(parsed));
}

/** 2000::/3 is all that has been given out. */
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return address.match(ipaddr.IPv6.parse('2000::'), 3);
}
