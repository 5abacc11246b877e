/** Prints answers as they are generated, without the control characters in them. */
import type { ReplyFinish, ReplyToken } from '../../engine/reply-stream.js';
import { printable } from '../output/log-output.js';

const DIM = '\u001b[2m';
const NORMAL = '\u001b[22m';

export interface PrintStyle {
  /** Whether reasoning is printed. */
  reasoning: boolean;
  /** Whether reasoning is dimmed. */
  color: boolean;
}

export class CompletionPrinter {
  readonly #write: (text: string) => void;
  readonly #style: PrintStyle;
  #part: 'nothing' | 'reasoning' | 'text' = 'nothing';
  #line = '';

  constructor(write: (text: string) => void, style: PrintStyle) {
    this.#write = write;
    this.#style = style;
  }

  add({ reasoning, text }: Pick<ReplyToken, 'reasoning' | 'text'>): void {
    if (this.#style.reasoning) this.#print('reasoning', reasoning);
    this.#print('text', text);
  }

  /** Ends the line and the style, also of an answer that was stopped. */
  end(): void {
    const isDim = this.#part === 'reasoning' && this.#style.color;
    this.#write(`${isDim ? NORMAL : ''}${this.#line === '' ? '' : '\n'}`);
  }

  #print(part: 'reasoning' | 'text', text: string): void {
    // The templates of many models put empty lines around the reasoning.
    const shown = this.#part === part ? text : text.trimStart();
    if (shown === '') return;
    if (this.#part !== part) this.#start(part);
    this.#write(printableLines(shown));
    this.#line = `${this.#line}${shown}`.replace(/^[\s\S]*\n/, '');
  }

  #start(part: 'reasoning' | 'text'): void {
    const { color } = this.#style;
    if (part === 'reasoning') this.#write(color ? DIM : 'Thinking:\n');
    else if (this.#part === 'reasoning') this.#write(`${color ? NORMAL : ''}${this.#line === '' ? '' : '\n'}\n`);
    this.#part = part;
    this.#line = '';
  }
}

/** Untrusted text cannot control the terminal; line breaks remain. */
export function printableLines(text: string): string {
  return text.replaceAll('\r', '').split('\n').map(printable).join('\n');
}

/** Such as `12 tokens, 34.5/s; prompt: 56 tokens (40 cached), 780.0/s`. */
export function describeSpeed({ promptTokens, cachedTokens, completionTokens, timings }: ReplyFinish): string {
  const rate = (tokens: number, ms: number) => (ms > 0 && tokens > 0 ? `, ${((tokens / ms) * 1000).toFixed(1)}/s` : '');
  // The first token belongs to the prompt.
  const completion = `${completionTokens} tokens${rate(completionTokens - 1, timings.predictedMs)}`;
  const cached = cachedTokens > 0 ? ` (${cachedTokens} cached)` : '';
  return `${completion}; prompt: ${promptTokens} tokens${cached}${rate(promptTokens - cachedTokens, timings.promptMs)}`;
}
