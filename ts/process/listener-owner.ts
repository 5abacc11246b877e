import { readFileSync } from 'node:fs';

const LISTENING = '0A';
const ROOT = 0;

/**
 * Whether the TCP port of this machine belongs to the account or to root, which hosts sockets for systemd units and
 * containers. Only Linux reports it; true elsewhere.
 */
export function isListenerOf(uid: number, port: number): boolean {
  if (process.platform !== 'linux') return true;
  const owners = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => ownersIn(readOrEmpty(file), port));
  return owners.length > 0 && owners.every((owner) => owner === uid || owner === ROOT);
}

/** A line: number, local address, remote address, state, queues, timer, retransmissions, owner ... */
function ownersIn(table: string, port: number): number[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = table.split('\n').map((line) => line.trim().split(/\s+/));
  const listening = lines.filter(([, address, , state]) => address?.endsWith(local) && state === LISTENING);
  return listening.map((fields) => Number(fields[7]));
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
