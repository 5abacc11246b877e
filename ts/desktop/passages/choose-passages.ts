/** Replaces files that do not fit into the context by passages: those that match the question, or the beginnings. */
import { setImmediate } from 'node:timers/promises';
import type { Chat, ChatMessage, CompletionError, UsedPassages } from '../api-types.js';
import { textOf } from '../chat-files.js';
import { type Embed, scoresByMeaning, type VectorStore } from './rank-by-meaning.js';
import { scoresByWords } from './rank-by-words.js';
import { type Passage, splitText } from './split-text.js';

/** The field of a chat's settings with the user's choice. */
export const LONG_FILES = 'longFiles';

/** The prompt may have more tokens than estimated; then the next try has half the room. */
const MAX_TRIES = 3;
/** Leaves room for this completion and a next question, as for chats that are shortened. */
const KEPT_SHARE = 0.6;
const MIN_ROOM = 200;
/** Characters of the tags around a passage. */
const TAGS = 80;
const MAX_CHARACTERS = 2 ** 23;
/** More passages are first ranked by words, which takes milliseconds. */
const MAX_EMBEDDED = 256;
const MAX_MODELS = 3;
const LIMIT_MS = 120_000;

export interface PassageParts {
  vectors: VectorStore;
  embed: Embed;
  /** Names of the embedding models on this computer, the smallest first. */
  embedders(): readonly string[];
}

interface Source extends Passage {
  message: string;
  /** Index in the files of the message. */
  file: number;
  text: string;
}

export interface Chosen {
  branch: ChatMessage[];
  passages: UsedPassages;
}

export class PassageChooser {
  constructor(private readonly parts: PassageParts) {}

  /**
   * Returns `null` if the user did not choose this, or if the other messages leave no room. `sent` is the branch that
   * did not fit.
   */
  async choose(
    chat: Chat,
    branch: readonly ChatMessage[],
    { sent, error, tries }: { sent: readonly ChatMessage[]; error: CompletionError; tries: number },
    signal: AbortSignal,
  ): Promise<Chosen | null> {
    const choice = chat.settings[LONG_FILES];
    const room = roomForFiles(branch, sent, error) * 0.5 ** tries;
    if ((choice !== 'passages' && choice !== 'start') || room < MIN_ROOM || tries >= MAX_TRIES) return null;
    const files = await sourcesOf(branch);
    const sources = files.flat();
    if (sources.length === 0) return null;
    const question = branch.findLast(({ role }) => role === 'user')?.content.trim() ?? '';
    const ranked = choice === 'passages' ? await this.#rank(chat.id, question, sources, signal) : null;
    const used = ranked === null ? beginnings(files, room) : best(sources, ranked.scores, room);
    const joined = join(used);
    return {
      branch: branch.map((message) => withPassages(message, joined)),
      passages: {
        ranking: ranked?.ranking ?? 'start',
        model: ranked?.model ?? null,
        used: joined.map(({ text: _, ...passage }) => passage),
      },
    };
  }

  /** `null`: nothing matches. */
  async #rank(chat: string, question: string, sources: readonly Source[], signal: AbortSignal) {
    const byWords = scoresByWords(
      question,
      sources.map(({ text }) => text),
    );
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const candidates = sources
      .map((_, at) => at)
      .sort((one, other) => (byWords[other] as number) - (byWords[one] as number))
      .slice(0, MAX_EMBEDDED);
    const texts = candidates.map((at) => sources[at]?.text ?? '');
    const short = question.slice(0, splitText(question)[0]?.end ?? 0);
    for (const model of short === '' ? [] : this.parts.embedders().slice(0, MAX_MODELS)) {
      try {
        const found = await scoresByMeaning(this.parts, { chat, model, question: short }, texts, limit);
        const scores = sources.map(() => Number.NEGATIVE_INFINITY);
        for (const [index, at] of candidates.entries()) scores[at] = found[index] as number;
        return { ranking: 'meaning' as const, model, scores };
      } catch {
        // A reranker, or too little memory.
        if (limit.aborted) break;
      }
    }
    return byWords.some((score) => score > 0) ? { ranking: 'words' as const, model: null, scores: byWords } : null;
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** Characters that the files may have. */
function roomForFiles(
  branch: readonly ChatMessage[],
  sent: readonly ChatMessage[],
  { n_ctx: context = 1, n_prompt_tokens: prompt = 1 }: CompletionError,
): number {
  const others = sum(branch.map(({ content }) => content.length));
  return (sum(sent.map((message) => textOf(message).length)) * context * KEPT_SHARE) / prompt - others;
}

/** The passages of each file, in order; of the newest ones, if the files are too long. */
async function sourcesOf(branch: readonly ChatMessage[]): Promise<Source[][]> {
  const sources: Source[][] = [];
  let characters = 0;
  const files = branch.flatMap(({ id, files = [] }) => files.map(({ text }, file) => ({ message: id, file, text })));
  for (const { text, ...place } of files.toReversed()) {
    characters += text.length;
    if (characters > MAX_CHARACTERS) break;
    sources.unshift(splitText(text).map((each) => ({ ...each, ...place, text: text.slice(each.start, each.end) })));
    // Other requests of the app continue between files.
    await setImmediate();
  }
  return sources;
}

/** Those with the highest scores, in the order of the files. */
function best(sources: readonly Source[], scores: readonly number[], room: number): Source[] {
  const order = sources.map((_, at) => at).sort((one, other) => (scores[other] as number) - (scores[one] as number));
  const used = new Set<number>();
  let left = room;
  for (const at of order) {
    left -= (sources[at] as Source).text.length + TAGS;
    if (used.size > 0 && (left < 0 || (scores[at] as number) <= 0)) break;
    used.add(at);
  }
  return sources.filter((_, at) => used.has(at));
}

/** Equal shares of the room; what short files leave is for the others. */
function beginnings(files: readonly Source[][], room: number): Source[] {
  const lengthOf = (passages: readonly Source[]) => sum(passages.map(({ text }) => text.length)) + TAGS;
  const used = new Set<Source>();
  let left = room;
  for (const [index, passages] of files.toSorted((one, other) => lengthOf(one) - lengthOf(other)).entries()) {
    let share = left / (files.length - index) - TAGS;
    for (const passage of passages) {
      share -= passage.text.length;
      if (share < 0) break;
      used.add(passage);
      left -= passage.text.length;
    }
    left -= TAGS;
  }
  return files.flat().filter((source) => used.has(source));
}

/** Joins passages that follow each other. */
function join(passages: readonly Source[]): Source[] {
  const joined: Source[] = [];
  for (const passage of passages) {
    const last = joined.at(-1);
    const follows = last?.message === passage.message && last.file === passage.file && last.end === passage.start;
    if (last === undefined || !follows) joined.push({ ...passage });
    else Object.assign(last, { end: passage.end, lastLine: passage.lastLine, text: last.text + passage.text });
  }
  return joined;
}

function withPassages(message: ChatMessage, passages: readonly Source[]): ChatMessage {
  const { files } = message;
  if (files === undefined) return message;
  const own = passages.filter((passage) => passage.message === message.id);
  return {
    ...message,
    files: own.map(({ file, text, firstLine, lastLine }) => ({
      name: `${files[file]?.name}, lines ${firstLine} to ${lastLine}`,
      sizeBytes: 0,
      text,
    })),
  };
}
