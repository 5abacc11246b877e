/** Starts a cloud. Like `chasqui serve`, listen errors include the address. */
import { type Cloud, type CloudSettings, startCloud } from '../../cloud/start.js';
import { chatPage } from '../../desktop/web-page.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { explainStart } from '../errors/explain-start.js';

const LISTENING = ['listen', 'bind', 'getaddrinfo'];

/** @throws {CommandFailed} if it cannot listen on the address, and the errors of `startCloud` */
export async function startOrExplain(settings: CloudSettings): Promise<Cloud> {
  try {
    return await startCloud({ chatPage, ...settings });
  } catch (error) {
    const { syscall = '' } = error as NodeJS.ErrnoException;
    if (!LISTENING.includes(syscall)) throw error;
    throw new CommandFailed(EXIT.failed, await explainStart(error, { host: settings.host, port: settings.port }));
  }
}
