/** Starts a cloud. Why it cannot listen is said with its address, as `chasqui serve` does. */
import { type Cloud, type CloudSettings, startCloud } from '../../cloud/start.js';
import { explainStart } from '../explain-start.js';
import { CommandFailed, EXIT } from './outcome.js';

const LISTENING = ['listen', 'bind', 'getaddrinfo'];

/** @throws {CommandFailed} for an address that cannot be had; and what `startCloud` throws */
export async function startOrExplain(settings: CloudSettings): Promise<Cloud> {
  try {
    return await startCloud(settings);
  } catch (error) {
    const { syscall = '' } = error as NodeJS.ErrnoException;
    if (!LISTENING.includes(syscall)) throw error;
    throw new CommandFailed(EXIT.failed, await explainStart(error, { host: settings.host, port: settings.port }));
  }
}
