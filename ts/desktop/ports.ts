/** Who uses a port of this machine, and which one is free. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isFree } from '../server/listen.js';

/** The app's own: one that does not change, so that its pages can be kept among a browser's bookmarks. */
export const APP_PORT = 12_340;

export interface PortOwner {
  pid: number;
  name: string;
}

const TRIED_PORTS = 20;

/** The first free port after this one; `null`: none of the next twenty. */
export async function freePort(after: number): Promise<number | null> {
  for (let port = after + 1; port <= Math.min(after + TRIED_PORTS, 65_535); port += 1) {
    if (await isFree(port)) return port;
  }
  return null;
}

/** `null` on other systems than Linux, and where the program belongs to another account. */
export async function portOwner(port: number): Promise<PortOwner | null> {
  try {
    const inodes = listeningInodes(port);
    if (inodes.size === 0) return null;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (holdsOneOf(pid, inodes)) return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
    }
  } catch {
    // There is no /proc, or the program has ended.
  }
  return null;
}

const LISTENING = '0A';

/** Lines of /proc/net/tcp are `sl local_address rem_address st ... inode`, with the port in hexadecimal. */
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
