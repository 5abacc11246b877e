/**
 * Converts tokens to chunks, as JSON text. This runs for every token of every stream. A chunk is joined from prepared
 * text, and only the token's own delta is serialised.
 */
import type { Finish, TokenStream } from '../../../engine/engine.js';
import type { SseEvent } from '../../../http/sse.js';
import type { LogprobEntry, VerboseReport } from '../../shared/completion/chat-reply-schema.js';
import { type CompletionDelta, CompletionReader } from '../../shared/completion/completion-reader.js';
import type { CompletionHead, PromptProgress, RunningUsage } from '../../shared/completion/reply-fields.js';
import { RunningTimings, toTimings, totalReasoningTokens, toUsage } from '../../shared/completion/reply-fields.js';
import type { ChoiceBatch } from '../../shared/completion/stream-reply.js';
import { DONE, dataFailure, type EventEncoder } from '../../shared/completion/stream-reply.js';
import { CallForms, toOldReason } from './call-forms.js';
import type { ToolCallDelta } from './schema.js';

/** The contract: every chunk has a `delta.content`, a string or null. */
const NO_CONTENT = '{"content":null}';
const FIRST_DELTA = '{"role":"assistant","content":null}';

export interface ChunkOptions {
  includeUsage: boolean;
  choices: number;
  /** Whether the tokens have parsed deltas; default false. */
  parsed?: boolean | undefined;
  /** Reports times with the chunk that ends a choice; default false. */
  timings?: boolean | undefined;
  /** Makes the report with the chunk that ends the first choice; default: none. */
  verbose?: ((finish: Finish) => VerboseReport) | undefined;
  /** The streams of all choices, where each chunk has the times so far; default none. */
  timed?: readonly Pick<TokenStream, 'prefill'>[];
  /** The progress of the prompt, which all choices share. Default: not reported. */
  progress?: PromptProgress | undefined;
  customTools?: ReadonlySet<string> | undefined;
  /** Reports calls as `function_call`; default false. */
  hasOldForm?: boolean | undefined;
  /** Reports the usage so far with each chunk; requires `includeUsage`. */
  usage?: RunningUsage | undefined;
}

export class ChunkEncoder implements EventEncoder {
  readonly fail = dataFailure;
  readonly progress: (() => string[]) | undefined;
  /** The chunk up to the value of `choices`. */
  readonly #head: string;
  /** The chunk after the value of `choices`. */
  #tail: string;
  readonly #includeUsage: boolean;
  readonly #usage: RunningUsage | undefined;
  readonly #hasOldForm: boolean;
  readonly #timings: boolean;
  readonly #verbose: ChunkOptions['verbose'];
  /** One for each choice; empty if times are not reported. */
  readonly #running: RunningTimings[];
  readonly #readers: CompletionReader[];
  /** One for each choice, if there are custom tools. */
  readonly #forms: CallForms[] | null;
  readonly #started: boolean[];
  /** The JSON text before and after the content of a chunk with content alone; one for each choice. */
  readonly #beforeContent: readonly string[];
  readonly #afterContent: string;

  constructor(head: CompletionHead, options: ChunkOptions) {
    const { includeUsage, choices, parsed = false, timings = false, timed = [], customTools } = options;
    const { id, created, model, system_fingerprint } = head;
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, system_fingerprint });
    this.#head = `${fields.slice(0, -1)},"choices":`;
    this.#tail = includeUsage ? ',"usage":null}' : '}';
    this.#includeUsage = includeUsage;
    this.#usage = options.usage;
    this.#hasOldForm = options.hasOldForm ?? false;
    this.#timings = timings || timed.length > 0;
    this.#verbose = options.verbose;
    this.#running = timed.map((stream) => new RunningTimings(stream));
    this.#readers = Array.from({ length: choices }, () => new CompletionReader(parsed));
    this.#forms = customTools?.size ? this.#readers.map(() => new CallForms(customTools)) : null;
    this.#started = this.#readers.map(() => false);
    const { progress } = options;
    if (progress) this.progress = () => this.#newProgress(progress);
    this.#beforeContent = this.#readers.map((_, index) => `${this.#head}[{"index":${index},"delta":{"content":`);
    this.#afterContent = `},"logprobs":null,"finish_reason":null}]`;
  }

  /**
   * Returns the chunks for a choice's tokens. The first call adds a chunk with the role. The last token adds a chunk
   * with the finish reason, and the last token of all choices one with the usage and, as in llama-server, the times.
   */
  encode({ index, tokens }: ChoiceBatch): string[] {
    const reader = this.#readers[index] as CompletionReader;
    const chunks = this.progress?.() ?? [];
    if (!this.#started[index]) {
      if (this.#usage !== undefined) this.#reportUsage(this.#usage);
      chunks.push(this.#begin(index));
    }
    const running = this.#running[index];
    running?.add(tokens.length);
    if (this.#usage !== undefined) this.#reportUsage(this.#usage, tokens.length);
    const timings = running === undefined ? '' : toField(running.soFar());
    for (const delta of reader.read(tokens)) {
      const { content, reasoning_content, tool_calls, logprobs } = delta;
      const isAlone = reasoning_content === undefined && tool_calls === undefined && logprobs === undefined;
      if (content !== undefined && isAlone) {
        const json = JSON.stringify(content);
        chunks.push(`${this.#beforeContent[index]}${json}${this.#afterContent}${timings}${this.#tail}`);
      } else chunks.push(...this.#delta(index, delta, timings));
    }
    if (reader.ended) this.#encodeEnd(index, reader, chunks);
    return chunks;
  }

  #newProgress(progress: PromptProgress): string[] {
    const reports = progress.take();
    if (reports.length === 0) return [];
    if (this.#usage !== undefined) this.#reportUsage(this.#usage);
    const [running] = this.#running;
    const chunks = reports.map((report) => {
      const timings = running === undefined ? '' : toField(running.soFar(report.processed));
      const field = `${timings},"prompt_progress":${JSON.stringify(report)}`;
      return this.#choice(0, NO_CONTENT, 'null', 'null', field);
    });
    return this.#started[0] ? chunks : [this.#begin(0), ...chunks];
  }

  #begin(index: number): string {
    this.#started[index] = true;
    return this.#choice(index, FIRST_DELTA, 'null', 'null');
  }

  end(): readonly SseEvent[] {
    for (const reader of this.#readers) reader.finish;
    return DONE;
  }

  #encodeEnd(index: number, reader: CompletionReader, chunks: string[]): void {
    const timings = this.#timings ? toField(toTimings(reader.finish)) : '';
    const reason = `"${this.#hasOldForm ? toOldReason(reader.finishReason) : reader.finishReason}"`;
    const rest = this.#forms?.[index]?.rest() ?? [];
    if (rest.length > 0) chunks.push(this.#choice(index, deltaJson({}, rest), 'null', 'null'));
    const report = index === 0 ? this.#verbose?.(reader.finish) : undefined;
    const verbose = report ? `,"__verbose":${JSON.stringify(report)}` : '';
    chunks.push(this.#choice(index, NO_CONTENT, logprobsJson(reader.takeLogprobs()), reason, timings + verbose));
    if (this.#includeUsage && this.#readers.every(({ ended }) => ended)) {
      const usage = toUsage(
        this.#readers.map(({ finish }) => finish),
        totalReasoningTokens(this.#readers),
      );
      chunks.push(`${this.#head}[],"usage":${JSON.stringify(usage)}${timings}}`);
    }
  }

  /** Undefined if the piece of a call adds nothing. */
  #delta(index: number, delta: CompletionDelta, timings: string): string[] {
    if (this.#hasOldForm && delta.tool_calls) {
      const call = delta.tool_calls.find(({ index: at }) => at === 0);
      const json = JSON.stringify({ content: null, function_call: call?.function });
      return call === undefined ? [] : [this.#choice(index, json, 'null', 'null', timings)];
    }
    const forms = this.#forms?.[index];
    const calls = delta.tool_calls?.flatMap((call) => (forms ? (forms.toDelta(call) ?? []) : call));
    if (calls?.length === 0) return [];
    return [this.#choice(index, deltaJson(delta, calls), logprobsJson(delta.logprobs), 'null', timings)];
  }

  /** `delta`, `logprobs` and further fields of the chunk are JSON text. */
  #choice(index: number, delta: string, logprobs: string, finishReason: string, fields = ''): string {
    const choice = `{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finishReason}}`;
    return `${this.#head}[${choice}]${fields}${this.#tail}`;
  }

  /** `tokens`: the latest ones of any choice. */
  #reportUsage(usage: RunningUsage, tokens = 0): void {
    usage.add(tokens);
    this.#tail = `,"usage":${JSON.stringify(usage.soFar())}}`;
  }
}

/** The timings, as a further field of a chunk. */
function toField(timings: object): string {
  return `,"timings":${JSON.stringify(timings)}`;
}

function deltaJson({ content, reasoning_content }: CompletionDelta, tool_calls?: readonly ToolCallDelta[]): string {
  return JSON.stringify({ content: content ?? null, reasoning_content, tool_calls });
}

function logprobsJson(content: LogprobEntry[] | undefined): string {
  return content === undefined || content.length === 0 ? 'null' : JSON.stringify({ content, refusal: null });
}
