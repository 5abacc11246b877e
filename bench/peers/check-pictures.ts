/** Compares completions about images with those of llama-server, for equal weights and temperature 0. The texts must be equal. */
import path from 'node:path';
import { seededRandom } from '../../test/support/seeded-random.js';
import { syntheticModel, widthOf } from '../../test/support/synthetic-model.js';
import { syntheticProjector, vitB16 } from '../../test/support/synthetic-projector.js';
import { randomBitmap } from '../random-bitmap.js';
import { startServer } from '../subjects/running-server.js';
import type { ChosenBackend } from './backend.js';
import type { Peers } from './build-peers.js';
import { logsFolder } from './places.js';
import type { Scenario } from './scenario.js';
import { ourArguments, peerArguments } from './subjects.js';

const random = seededRandom(1);
const pictures = Array.from({ length: 3 }, () => ({ type: 'image_url', image_url: { url: randomBitmap(random) } }));
const text = (words: string) => ({ type: 'text', text: words });
const [one, two, three] = pictures;
const user = (...content: unknown[]) => ({ role: 'user', content });
const earlier = [user(text('Look:'), one), { role: 'assistant', content: 'I see a river.' }];

const conversations: Record<string, unknown[]> = {
  'a picture before the text': [user(one, text('What is it?'))],
  'a picture after the text': [user(text('What is it?'), two)],
  'text around a picture': [user(text('Look:'), three, text('What is it?'))],
  'three pictures': [user(text('One'), one, text('two'), two, text('three'), three, text('differ how?'))],
  'a picture in an earlier turn': [...earlier, user(text('Is it wide?'))],
  'pictures in both turns': [...earlier, user(two, text('And this?'))],
};

/** Prints one line per conversation. Returns whether all are equal. */
export async function checkPictures(
  { pathOf }: Peers,
  threads: number,
  backend: ChosenBackend,
): Promise<{ report: string; equal: boolean }> {
  const model = '0.5B' as const;
  const scenario = {
    id: 'check-pictures',
    model,
    contextSize: 2048,
    parallel: 1,
    lines: [],
    run: async () => ({}),
  } satisfies Scenario;
  const setting = {
    modelPath: syntheticModel(model, pathOf('llama-quantize')),
    projectorPath: syntheticProjector({ ...vitB16, modelWidth: widthOf(model) }),
    threads,
    backend,
    llamaServer: pathOf('llama-server'),
  };
  const peer = await answers('llama-server', setting.llamaServer, peerArguments(scenario, setting));
  const own = await answers('chasqui', process.execPath, ourArguments(scenario, setting));
  const lines = Object.keys(conversations).map((name) => {
    const verdict = own[name] === peer[name] ? 'equal' : `differs:\n  ${own[name]}\n  ${peer[name]}`;
    return `${name}: ${verdict}`;
  });
  return { report: lines.join('\n'), equal: Object.keys(conversations).every((name) => own[name] === peer[name]) };
}

async function answers(name: string, command: string, args: string[]): Promise<Record<string, string>> {
  const server = await startServer({ name, command, args, log: path.join(logsFolder, `check-pictures-${name}.log`) });
  const given: Record<string, string> = {};
  try {
    for (const [conversation, messages] of Object.entries(conversations)) {
      const body = JSON.stringify({ model: 'bench', messages, max_tokens: 24, ignore_eos: true, temperature: 0 });
      const headers = { 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${server.port}/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(120_000) });
      const answer = (await response.json()) as { choices?: { message: { content: string } }[] };
      const content = answer.choices?.[0]?.message.content;
      if (!content) throw new Error(`${name} answered ${response.status}: ${JSON.stringify(answer)}`);
      given[conversation] = content;
    }
  } finally {
    await server.close();
  }
  return given;
}
