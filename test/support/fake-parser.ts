/** A parser for answers of the form `<think>reasoning</think>content<call>name {"json"}</call>...`. */
import type { ReplyDelta, Token } from '../../ts/engine/engine.js';
import type { NativeReplyParser } from '../../ts/native/addon.js';

export class FakeParser implements NativeReplyParser {
  #text = '';
  #seen = '';
  #reasoning = 0;
  #calls = 0;
  #within: 'content' | 'reasoning' | 'call' = 'content';

  push(text: string, isLast: boolean): ReplyDelta[] {
    this.#text += text;
    const deltas: ReplyDelta[] = [];
    for (;;) {
      const tag = /<\/?think>|<call>\w+ |<\/call>/.exec(this.#text);
      const heldBack = tag ?? (isLast ? null : /<(?:[/a-z]*|call>\w*)$/.exec(this.#text));
      this.#tell(this.#text.slice(0, heldBack?.index), deltas);
      this.#text = heldBack ? this.#text.slice(heldBack.index) : '';
      if (!tag) return deltas;
      this.#enter(tag[0], deltas);
    }
  }

  reasoningLength(): number {
    return this.#reasoning;
  }

  repeats(): boolean {
    return false;
  }

  #enter(tag: string, deltas: ReplyDelta[]): void {
    this.#text = this.#text.slice(tag.length);
    if (tag === '</think>') this.#reasoning = this.#seen.length;
    this.#seen += tag;
    const name = /^<call>(\w+) $/.exec(tag)?.[1];
    this.#within = tag === '<think>' ? 'reasoning' : name ? 'call' : 'content';
    if (!name) return;
    deltas.push({ toolIndex: this.#calls, toolId: `call${this.#calls}`, toolName: name, toolArguments: '' });
    this.#calls += 1;
  }

  #tell(text: string, deltas: ReplyDelta[]): void {
    if (text === '') return;
    this.#seen += text;
    if (this.#within === 'reasoning') deltas.push({ reasoning: text });
    else if (this.#within === 'content') deltas.push({ content: text });
    else deltas.push({ toolIndex: this.#calls - 1, toolArguments: text });
  }
}

/** Has `parser` parse the text of each batch, as the engine does with each wake. */
export function parseBatches(batches: Token[][], parser: NativeReplyParser = new FakeParser()): Token[][] {
  const ends: number[] = [];
  let length = 0;
  for (const batch of batches) {
    let text = '';
    for (const token of batch) {
      text += token.text;
      length += token.text.length;
      ends.push(length);
    }
    const last = batch.at(-1);
    if (!last) continue;
    last.deltas = parser.push(text, last.finish !== undefined);
    if (!last.finish) continue;
    const reasoning = parser.reasoningLength();
    last.finish.reasoningTokens = ends.filter((_, index) => (ends[index - 1] ?? 0) < reasoning).length;
  }
  return batches;
}
