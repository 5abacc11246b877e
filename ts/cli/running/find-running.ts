/** The servers, the desktop app and the cloud that run with a data folder. */
import { type LocalAddress, readAddress } from '../../cloud/places.js';
import { findInstance, type InstanceFile } from '../../desktop/single-instance.js';
import { ownCall } from '../../own-call.js';
import { CloudClient } from '../cloud/client.js';
import { DesktopClient } from '../desktop/desktop-client.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { runningServers, type ServerEntry, serversFolder } from './server-registry.js';

export type Running =
  | { kind: 'app'; client: DesktopClient; instance: InstanceFile }
  | { kind: 'server'; entry: ServerEntry }
  | { kind: 'cloud'; address: LocalAddress };

export async function findRunning(folder: string): Promise<Running[]> {
  const [app, cloud] = await Promise.all([findApp(folder), findCloud(folder)]);
  const servers = runningServers(serversFolder(folder)).map((entry) => ({ kind: 'server', entry }) as const);
  return [...app, ...servers, ...cloud];
}

/** Finds `app`, `cloud` or the server of a process id. */
export function chooseRunning(running: readonly Running[], target: string): Running | undefined {
  return running.find((each) => nameOf(each) === target);
}

/** @throws {CommandFailed} if none or several are running */
export function onlyRunning(running: readonly Running[], verb: string, folder: string): Running {
  const [only, ...others] = running;
  if (only === undefined) throw nothingRuns(folder);
  if (others.length === 0) return only;
  const calls = running.map((each) => `\n  ${ownCall()} ${verb} ${nameOf(each).padEnd(8)}${describe(each)}`);
  throw new CommandFailed(EXIT.usage, `several are running; name one:${calls.join('')}`);
}

export function nothingRuns(folder: string): CommandFailed {
  const advice = `start one with ${ownCall()} serve --background, ${ownCall()} desktop or ${ownCall()} cloud start`;
  return new CommandFailed(
    EXIT.unreachable,
    `no server, app or cloud is running with the data folder ${folder}; ${advice}`,
  );
}

export function describe(running: Running): string {
  if (running.kind === 'server') return `server at ${running.entry.url}`;
  return running.kind === 'app' ? `desktop app at ${running.client.url}` : `cloud at ${running.address.url}`;
}

function nameOf(running: Running): string {
  return running.kind === 'server' ? String(running.entry.pid) : running.kind;
}

async function findApp(folder: string): Promise<Running[]> {
  const client = await DesktopClient.findNow(folder);
  const instance = findInstance(folder);
  return client === null || instance === null ? [] : [{ kind: 'app', client, instance }];
}

async function findCloud(folder: string): Promise<Running[]> {
  const address = readAddress(folder);
  if (address === null) return [];
  return (await CloudClient.findLocal(folder)) === null ? [] : [{ kind: 'cloud', address }];
}
