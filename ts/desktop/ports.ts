/** Finds the owner of a port, and free ports. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isFree } from '../server/listen.js';

/** Default port of the app; constant, so that pages can be bookmarked. */
export const APP_PORT = 12_340;

export interface PortOwner {
  pid: number;
  name: string;
}

const TRIED_PORTS = 20;

/** Returns the next free port, or `null` if the next twenty are in use. */
export async function freePort(after: number): Promise<number | null> {
  for (let port = after + 1; port <= Math.min(after + TRIED_PORTS, 65_535); port += 1) {
    if (await isFree(port)) return port;
  }
  return null;
}

/** Linux only, and only for programs of this account; otherwise `null`. */
export async function portOwner(port: number): Promise<PortOwner | null> {
  try {
    const inodes = listeningInodes(port);
    if (inodes.size === 0) return null;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (holdsOneOf(pid, inodes)) return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
    }
  } catch {
    // There is no /proc, or the process has ended.
  }
  return null;
}

const LISTENING = '0A';

/** Lines of /proc/net/tcp: `sl local_address rem_address st ... inode`, with the port in hexadecimal. */
function listeningInodes(port: number): Set<string> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const found = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(`:${hex}`) && fields[3] === LISTENING) found.add(`socket:[${fields[9]}]`);
    }
  }
  return found;
}

function holdsOneOf(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.has(linkOf(`/proc/${pid}/fd/${fd}`)));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
