import { seededRandom } from '../../test/support/seeded-random.js';
import { randomWords } from '../random-words.js';
import { type Figures, figuresOf, type Subject, type Work } from '../work.js';
import { streamChat, timeLimit } from './chat-stream.js';
import { type RunningServer, type ServerCommand, startServer } from './running-server.js';

const timeoutMs = 600_000;

export interface HttpServer extends Subject {
  server: RunningServer;
}

/**
 * Starts a server with an OpenAI-compatible API and reads streamed chat completions from it.
 * @param templateTokens tokens that the chat template adds to a user message. If given, prompts have exactly the length of
 * the work, which is checked. Otherwise the template's tokens are added to it.
 */
export async function httpServer(command: ServerCommand, templateTokens?: number): Promise<HttpServer> {
  const server = await startServer(command);
  return {
    name: command.name,
    server,
    run: (work, round) => runStreams(server, work, round, templateTokens),
    close: server.close,
  };
}

async function runStreams(server: RunningServer, work: Work, round: number, templateTokens?: number): Promise<Figures> {
  const random = seededRandom(round);
  const chats = Array.from({ length: work.streams }, () => ({
    user: randomWords(random, work.promptTokens - (templateTokens ?? 0)),
    predictTokens: work.predictTokens,
  }));
  const options = { start: performance.now(), signal: timeLimit(timeoutMs) };
  const results = await Promise.all(chats.map((chat) => streamChat(server, chat, options)));
  const odd = results.find(({ promptTokens }) => templateTokens !== undefined && promptTokens !== work.promptTokens);
  if (odd) throw new Error(`${server.name} counts ${odd.promptTokens} tokens in a prompt of ${work.promptTokens}`);
  return figuresOf(results);
}
