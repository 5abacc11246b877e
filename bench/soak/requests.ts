/** A fixed set of requests at temperature 0, and invalid requests. */

import { seededRandom } from '../../test/support/seeded-random.js';
import { randomBitmap } from '../random-bitmap.js';
import type { Answer } from './answers.js';
import type { Call } from './exchange.js';

type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

export interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string | Part[];
}

export interface ChatRequest {
  messages: Message[];
  max_tokens: number;
  temperature: number;
  seed?: number;
  ignore_eos?: boolean;
  stop?: string[];
  logprobs?: boolean;
  top_logprobs?: number;
}

const questions = [
  'Hello!',
  'What are you?',
  'Which endpoints do you have?',
  'Which port do you listen at?',
  'Count from 3 to 11.',
  'Count from 20 down to 8.',
  'Repeat: seven green lanterns over the quiet river',
  'Which is larger, 37 or 52?',
  'How is the weather today?',
  'What is your licence?',
  'How do I start the server?',
  'Count from 81 to 99.',
];

const words = 'river lantern seven quiet message runner mountain bridge carries paper under little stone number'.split(
  ' ',
);

function prose(random: () => number, length: number): string {
  return Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(' ');
}

function ask(content: string, max_tokens: number, system?: string): ChatRequest {
  const messages: Message[] = [{ role: 'user', content }];
  if (system !== undefined) messages.unshift({ role: 'system', content: system });
  return { messages, max_tokens, temperature: 0 };
}

/** A question about images, with text before and after them. */
export function askAboutPictures(pictures: readonly string[], max_tokens: number): ChatRequest {
  const text = (words: string): Part => ({ type: 'text', text: words });
  const parts = pictures.map((url): Part => ({ type: 'image_url', image_url: { url } }));
  const content = [text('Look.'), ...parts, text('What is in this picture?')];
  return { messages: [{ role: 'user', content }], max_tokens, temperature: 0 };
}

/** Deterministic for a seed: short and long prompts, shared system messages, long replies, images, every kind of field. */
export function fixedRequests(seed: number): ChatRequest[] {
  const random = seededRandom(seed);
  const systems = [80, 160, 240].map((length) => `You are careful. ${prose(random, length)}`);
  const pictures = Array.from({ length: 4 }, () => randomBitmap(random));
  return [
    ...questions.map((question) => ask(question, 60)),
    ...systems.flatMap((system) => questions.slice(0, 5).map((question) => ask(question, 40, system))),
    ...[150, 250, 350, 420].map((length) => ask(`Repeat: ${prose(random, length)}`, 50)),
    ...questions.slice(3, 7).map((question) => ({ ...ask(question, 250), ignore_eos: true })),
    ...pictures.map((picture) => askAboutPictures([picture], 30)),
    ...pictures.slice(1).map((picture, i) => askAboutPictures([pictures[i] as string, picture], 30)),
    { ...ask('Count from 1 to 40.', 120), stop: ['17', ' 23'] },
    { ...ask('Count from 40 to 60.', 80), logprobs: true, top_logprobs: 3 },
  ];
}

/** Multi-turn conversations that include the received answers. Each turn is one more fixed request. */
export async function conversations(answer: (request: ChatRequest) => Promise<Answer>): Promise<ChatRequest[]> {
  const turns: ChatRequest[] = [];
  for (let start = 0; start < 4; ++start) {
    const messages: Message[] = [];
    for (let turn = 0; turn < 4; ++turn) {
      messages.push({ role: 'user', content: questions[(start * 3 + turn) % questions.length] as string });
      const request = { messages: [...messages], max_tokens: 50, temperature: 0 };
      turns.push(request);
      messages.push({ role: 'assistant', content: (await answer(request)).text });
    }
  }
  return turns;
}

export function body(request: ChatRequest, stream: boolean): string {
  const streaming = stream ? { stream: true, stream_options: { include_usage: true } } : {};
  return JSON.stringify({ model: 'soak', ...request, ...streaming });
}

/** Requests enough alternatives to compute the margin of each token, even if all end-of-text tokens are more probable. */
export function withMargins(request: ChatRequest): ChatRequest {
  return { ...request, logprobs: true, top_logprobs: 6 };
}

/** Invalid requests and their expected status. */
export const badRequests: readonly { call: Call; status: number }[] = [
  { call: { body: '{"model":"soak","messages":[' }, status: 400 },
  { call: { body: '{"model":"soak"}' }, status: 400 },
  { call: { body: '{"model":"soak","messages":[{"role":"user","content":7}]}' }, status: 400 },
  { call: { body: '{"model":"soak","messages":[{"role":"user","content":"Hi"}],"temperature":"warm"}' }, status: 400 },
  { call: { body: body(ask('word '.repeat(20_000), 5), true) }, status: 400 },
  { call: { body: 'Hello!', contentType: 'text/plain' }, status: 415 },
  { call: { body: '{}', path: '/v1/no-such-thing' }, status: 404 },
  { call: { body: '', method: 'PUT' }, status: 405 },
];
