/** Whether a request comes from the machine that serves it, where only those can be who were let in. */
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Through a proxy on this machine everybody comes from here. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

export function isFromThisMachine({ headers, socket: { remoteAddress } }: FastifyRequest): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  // A Unix socket has no addresses.
  return remoteAddress === undefined || ipaddr.process(remoteAddress).range() === 'loopback';
}
