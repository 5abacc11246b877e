import os from 'node:os';
import ipaddr from 'ipaddr.js';

/** Not public addresses: sharing in the local network must not publish the server on the internet. */
const LOCAL_RANGES = ['private', 'carrierGradeNat', 'linkLocal'];

/** IPv4 addresses of this computer in local networks and VPNs. */
export function localAddresses(): string[] {
  return Object.values(os.networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)
    .filter((address) => LOCAL_RANGES.includes(ipaddr.parse(address).range()));
}
