import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const systemTokens = 300;
const userTokens = 40;
const predictTokens = 32;

/** More clients than slots, each with one of a few system prompts. Figures: requests per second, p99 time to first token. */
export function manyClients({ clients, systems }: Record<'clients' | 'systems', number>): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('many-clients', round);
    const shared = Array.from({ length: systems }, () => prompts.system(systemTokens));
    const chats = Array.from({ length: clients }, (_, index) => ({
      system: shared[index % systems] as string,
      user: prompts.user(userTokens),
      predictTokens,
    }));
    const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
    const results = await Promise.all(chats.map((chat) => streamChat(server, chat, options)));
    const firstTokens = results.map(({ firstTokenMs }) => firstTokenMs).sort((a, b) => a - b);
    return {
      requestRate: (1000 * clients) / Math.max(...results.map(({ lastTokenMs }) => lastTokenMs)),
      slowFirstToken: (firstTokens[Math.ceil(0.99 * clients) - 1] as number) / 1000,
    };
  };
}
