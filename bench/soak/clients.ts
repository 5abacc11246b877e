/** Clients that send random requests until the time is up. */

import { randomBitmap } from '../random-bitmap.js';
import { type Answer, moreProbable, partingOf, readAnswer, rounding, sameAnswer } from './answers.js';
import { type Call, exchange, type Reply } from './exchange.js';
import { askAboutPictures, badRequests, body, type ChatRequest, type Message, withMargins } from './requests.js';
import type { Tally } from './tally.js';

export interface Client {
  port: number;
  random: () => number;
  tally: Tally;
  /** The server runs with `--deterministic`, so answers must be equal. */
  deterministic: boolean;
  /** Requests and the answers of the idle server. */
  known: readonly { request: ChatRequest; answer: Answer }[];
}

/**
 * Bound for the effect of rounding on log-probabilities. Those of the demo model differ by up to 0.11 when its prompt is only
 * split differently, alone and without a cache. A wrong KV cell has a far larger effect.
 */
const ROUNDING = 0.25;

type Deed = (client: Client) => Promise<void>;

/** Actions and their relative frequencies. */
const mixed: readonly [number, Deed][] = [
  [30, askAndCompare],
  [6, readSlowly],
  [12, dropWhileQueued],
  [12, dropBeforeTheFirstToken],
  [15, dropMidStream],
  [4, dropWhileSending],
  [8, askAtRandom],
  [8, showAtRandom],
  [6, askBadly],
  [2, burst],
  [5, think],
];
const drops: readonly [number, Deed][] = [
  [2, dropWhileQueued],
  [2, dropBeforeTheFirstToken],
  [5, dropMidStream],
  [1, dropWhileSending],
  [2, askAtRandom],
  [2, showAtRandom],
];

export async function runClient(client: Client, onlyDrops: boolean, isOver: () => boolean): Promise<void> {
  const deeds = onlyDrops ? drops : mixed;
  while (!isOver() && !client.tally.hopeless) {
    const deed = choose(client, deeds);
    try {
      await deed(client);
    } catch (error) {
      client.tally.violation(`${deed.name}: ${error instanceof Error ? error.message : error}`);
      await pause(100);
    }
  }
}

function choose(client: Client, deeds: readonly [number, Deed][]): Deed {
  let drawn = client.random() * deeds.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, deed] of deeds) {
    drawn -= weight;
    if (drawn < 0) return deed;
  }
  return askAndCompare;
}

function below(client: Client, limit: number): number {
  return Math.floor(client.random() * limit);
}

function oneOf<Item>(client: Client, items: readonly Item[]): Item {
  return items[below(client, items.length)] as Item;
}

/** Sends a request and checks the status. */
async function send(client: Client, call: Call, expected = 200): Promise<Reply> {
  const reply = await exchange(client.port, call);
  if (reply.dropped) client.tally.count('dropped');
  else if (reply.status === 429) client.tally.count('turned away with 429');
  else if (reply.status !== expected) throw new Error(`status ${reply.status}: ${reply.text.slice(0, 300)}`);
  return reply;
}

async function askAndCompare(client: Client, options: Partial<Call> = {}): Promise<void> {
  const { request, answer } = oneOf(client, client.known);
  const streamed = client.random() < 0.6;
  const asked = client.random() < 0.5 ? withMargins(request) : request;
  const reply = await send(client, { body: body(asked, streamed), ...options });
  if (reply.status !== 200) return;
  client.tally.count(streamed ? 'streamed answers' : 'whole answers');
  const given = readAnswer(reply);
  if (given.tokens.length > 0) {
    judgeRounding(client, rounding(answer, given));
    judgeChoices(client, request, given);
  }
  if (!sameAnswer(given, answer)) judgeMismatch(client, request, answer, given);
}

function judgeRounding({ tally, deterministic }: Client, difference: number): void {
  tally.rounding(difference);
  if (difference > (deterministic ? 0 : ROUNDING)) tally.violation(`a log-probability differs by ${difference}`);
}

/** At temperature 0 the sampled token must be the most probable one, except for a forbidden end-of-text token. */
function judgeChoices({ tally }: Client, request: ChatRequest, given: Answer): void {
  if (request.ignore_eos) return;
  const wrong = given.tokens.find((token) => moreProbable(token).length > 0);
  if (wrong !== undefined)
    tally.violation(`a token that is not the most probable was selected at temperature 0: ${JSON.stringify(wrong)}`);
}

/** Kernels round differently for different batches, which decides between tokens of nearly equal probability. */
function judgeMismatch({ tally, deterministic }: Client, request: ChatRequest, idle: Answer, given: Answer): void {
  const { index, margin } = partingOf(idle, given);
  const lead = Number.isNaN(margin)
    ? 'the margin of the most probable token is unknown'
    : `the most probable token led by ${margin.toFixed(4)}`;
  const question = request.messages.map(({ content }) => textOf(content)).join(' ▸ ');
  const description = [
    `to the request “${question.slice(0, 60)} … ${question.slice(-40)}”`,
    `first difference at token ${index} of ${idle.tokens.length}; on the idle server, ${lead}:`,
    `\n      idle: ${JSON.stringify(idle.text)}, ${idle.finishReason}, ${idle.promptTokens}+${idle.completionTokens}`,
    `\n      now:  ${JSON.stringify(given.text)}, ${given.finishReason}, ${given.promptTokens}+${given.completionTokens}`,
  ].join(' ');
  // A negative or unknown margin is not a tie.
  if (!deterministic && margin >= 0 && margin < ROUNDING) tally.tie(description);
  else tally.violation(`another answer ${description}`);
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '▣')).join(' ');
}

function readSlowly(client: Client): Promise<void> {
  return askAndCompare(client, { pauseMs: 300 + below(client, 1500) });
}

async function dropped(client: Client, options: Partial<Call>): Promise<void> {
  const { request } = oneOf(client, client.known);
  await send(client, { body: body(request, client.random() < 0.8), ...options });
}

function dropWhileQueued(client: Client): Promise<void> {
  return dropped(client, { dropAfterMs: below(client, 15) });
}

function dropBeforeTheFirstToken(client: Client): Promise<void> {
  return dropped(client, { dropAfterMs: 15 + below(client, 400) });
}

/** The first chunk contains the headers or the first token. */
async function dropMidStream(client: Client): Promise<void> {
  const { request } = oneOf(client, client.known);
  await send(client, { body: body(request, true), dropAfterPieces: 1 + below(client, 20) });
}

function dropWhileSending(client: Client): Promise<void> {
  return dropped(client, { halfBody: true, dropAfterMs: 5 + below(client, 50) });
}

/** Replies of random lengths, too short to be cached, so cached memory stays constant. */
async function askAtRandom(client: Client): Promise<void> {
  const { request } = oneOf(client, client.known);
  const other = { ...request, temperature: 1, seed: below(client, 1e9), max_tokens: 1 + below(client, 24) };
  const reply = await send(client, { body: body(other, client.random() < 0.5) });
  if (reply.status !== 200) return;
  readAnswer(reply);
  client.tally.count('answers at temperature 1');
}

/** New images; half of these clients disconnect before the reply. */
async function showAtRandom(client: Client): Promise<void> {
  const pictures = Array.from({ length: 1 + below(client, 3) }, () => randomBitmap(client.random));
  const leaves = client.random() < 0.5 ? { dropAfterMs: below(client, 400) } : {};
  const reply = await send(client, { body: body(askAboutPictures(pictures, 1 + below(client, 12)), true), ...leaves });
  if (reply.status !== 200) return;
  if (reply.dropped) return;
  readAnswer(reply);
  client.tally.count('answers about new pictures');
}

async function askBadly(client: Client): Promise<void> {
  const { call, status } = oneOf(client, badRequests);
  await send(client, call, status);
  client.tally.count('bad requests refused');
}

async function burst(client: Client): Promise<void> {
  const deeds: Deed[] = [askAndCompare, askAndCompare, askAndCompare, dropMidStream, dropWhileQueued, dropWhileQueued];
  client.tally.count('bursts');
  const ends = await Promise.allSettled(deeds.map((deed) => deed(client)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function think(client: Client): Promise<void> {
  await pause(below(client, 1000));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
