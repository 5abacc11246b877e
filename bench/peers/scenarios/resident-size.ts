import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { residentMegabytes } from '../process-usage.js';
import { runTimeoutMs } from '../scenario.js';
import { Prompts } from './prompts.js';

/** Resident memory of a server after as many replies as it has slots. */
export async function residentSize(server: RunningServer, round: number): Promise<{ resident: number }> {
  const prompts = new Prompts('resident-size', round);
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const users = Array.from({ length: 8 }, () => prompts.user(200));
  await Promise.all(users.map((user) => streamChat(server, { user, predictTokens: 32 }, options)));
  return { resident: residentMegabytes(server.pid).now };
}
