// Every frame of every protocol is JSON and as documented, whatever a model writes and a parser makes of it.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ReplyDelta, Token, TokenLogprob } from '../../ts/engine/engine.js';
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';
import type { NativeReplyParser } from '../../ts/native/addon.js';
import { ReplyCheck } from '../conformance/reply-check.js';
import { CHAT_PATH, testApp } from '../support/build-app.js';
import { finishOf } from '../support/fake-engine.js';
import { seededRandom } from '../support/seeded-random.js';
import { pick, type Random } from './random-values.js';

const test = suite('property: frames');

const ROUNDS = 150;
const SEED = 1;

const TEXTS = [
  '',
  'a',
  ' b',
  '"',
  '\\',
  '\\u12',
  '\n',
  '\n\n',
  '\r\n\r\n',
  '\r',
  '\t\v\f\0\x1b\x7f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  '😀',
  '\uffff',
  'data: [DONE]\n\n',
  'event: x\ndata: {}\n\n',
  ': comment\n\n',
  '}],"x":[{',
  'é漢',
  '$&$1',
  'x'.repeat(500),
];

const text = (random: Random) => Array.from({ length: Math.floor(random() * 3) }, () => pick(random, TEXTS)).join('');
const maybe = <Value>(random: Random, value: () => Value): Value | undefined => (random() < 0.6 ? value() : undefined);

function randomLogprob(random: Random): TokenLogprob {
  const logprob = pick(random, [
    -1.5,
    0,
    -1e-12,
    -1e300,
    1e-7,
    Number.NEGATIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    NaN,
  ]);
  const bytes = Uint8Array.from({ length: Math.floor(random() * 5) }, () => Math.floor(random() * 256));
  return { id: Math.floor(random() * 256), bytes, logprob };
}

function randomToken(random: Random): Token {
  const token: Token = { id: Math.floor(random() * 256), text: text(random) };
  const top = () => Array.from({ length: Math.floor(random() * 3) }, () => randomLogprob(random));
  if (random() < 0.5) token.logprobs = { ...randomLogprob(random), top: top() };
  return token;
}

function randomBatches(random: Random): Token[][] {
  const batches = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomToken(random)),
  );
  const last = batches.at(-1)?.at(-1) as Token;
  const stopString = pick(random, [null, '', '\ud83d', '\n']);
  last.finish = finishOf(9, batches.flat().length, { reason: pick(random, ['stop', 'length']), stopString });
  return batches;
}

/** Brings anything that its type allows, and half of what it should. */
class RandomParser implements NativeReplyParser {
  #calls = 0;

  constructor(private readonly random: Random) {}

  push(): ReplyDelta[] {
    return Array.from({ length: Math.floor(this.random() * 4) }, () => this.#delta());
  }

  repeats(): boolean {
    return false;
  }

  reasoningLength(): number {
    return Math.floor(this.random() * 20);
  }

  #delta(): ReplyDelta {
    const { random } = this;
    const delta = { reasoning: maybe(random, () => text(random)), content: maybe(random, () => text(random)) };
    if (random() < 0.6) return delta as ReplyDelta;
    const begins = this.#calls === 0 || random() < 0.5;
    const toolIndex = begins ? this.#calls++ : this.#calls - 1;
    const head = begins
      ? { toolId: maybe(random, () => text(random)), toolName: maybe(random, () => text(random)) }
      : {};
    return { toolIndex, ...head, toolArguments: maybe(random, () => text(random)) } as ReplyDelta;
  }
}

const messages = [{ role: 'user', content: 'Hi' }];
const PROTOCOLS: [url: string, body: object][] = [
  [CHAT_PATH, { messages, stream_options: { include_usage: true }, timings: true, n: 2 }],
  [CHAT_PATH, { messages, logprobs: true, top_logprobs: 2 }],
  ['/v1/completions', { prompt: 'Hi', logprobs: 2, n: 2 }],
  ['/v1/completions', { prompt: ['Hi', '\u2028'], echo: true, stream_options: { include_usage: true } }],
  ['/v1/responses', { input: 'Hi', include: ['message.output_text.logprobs'], top_logprobs: 1 }],
  ['/v1/messages', { messages, max_tokens: 5, stop_sequences: ['\n'] }],
];

const app = testApp();

/** What is wrong with a reply; null when nothing is. */
async function problemWith(check: ReplyCheck, to: FastifyInstance, url: string, body: object): Promise<string | null> {
  const headers = { 'content-type': 'application/json' };
  const reply = await to.inject({ method: 'POST', url, headers, payload: JSON.stringify({ model: 'fake', ...body }) });
  if (reply.statusCode !== 200) return `status ${reply.statusCode}: ${reply.body}`;
  const type = String(reply.headers['content-type']);
  if (!type.startsWith('text/event-stream')) JSON.parse(reply.body);
  else if (!reply.body.endsWith('\n\n')) return 'the last frame is cut off';
  else for (const frame of reply.body.split('\n\n').slice(0, -1)) parseFrame(frame);
  return check.problemWith({ method: 'POST', url, status: 200, type, complete: true, body: reply.body });
}

/** By the letter of the standard: lines end with CR, LF or both. */
function parseFrame(frame: string): void {
  const lines = frame.split(/\r\n|\r|\n/);
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length));
  const others = lines.filter((line) => !line.startsWith('data: ') && !/^event: [a-z_.]+$/.test(line));
  if (data.length !== 1 || others.length > 0) throw new Error(`Not a frame: ${JSON.stringify(frame)}`);
  if (data[0] !== '[DONE]') JSON.parse(data[0] as string);
}

for (const [format, parses] of [
  ['their text', false],
  ['parsed', true],
] as const) {
  test(`${ROUNDS} random answers of seed ${SEED}, ${format}, in every protocol`, async () => {
    const document = (await app.app.inject('/openapi.json')).json() as OpenApiDocument;
    const check = new ReplyCheck(document);
    const problems: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, [url, body]] of PROTOCOLS.entries()) {
        for (const stream of [false, true]) {
          const random = seededRandom(SEED * 1_000_003 + round);
          app.engine.play({
            batches: () => randomBatches(random),
            reasons: parses,
            parser: () => new RandomParser(random),
          });
          const problem = await problemWith(check, app.app, url, { ...body, stream }).catch(String);
          if (problem) problems.push(`round ${round}, ${at} ${url}, ${stream ? 'streamed' : 'whole'}: ${problem}`);
        }
      }
    }
    assert.is(problems.length, 0, problems.slice(0, 5).join('\n'));
    assert.equal(app.serverErrors, []);
  });
}

test.run();
