/** The messages of a chat in the terminal, and the settings of its requests. */
import type { MessagesRequest } from '../../engine/generate.js';
import type { GenerateMessage, GeneratePart } from '../../engine/load-chat-images.js';
import type { Model } from '../../engine/model.js';
import type { Reply, ReplyToken } from '../../engine/reply-stream.js';

/** Fields of `generate` by their names there: `temperature`, `maxTokens`. */
export type ChatSettings = Readonly<Record<string, unknown>>;

export class Conversation {
  readonly model: Model;
  system: string | undefined;
  settings: ChatSettings;
  #messages: GenerateMessage[] = [];

  constructor(model: Model, { system, ...settings }: { system?: string | undefined } & ChatSettings) {
    this.model = model;
    this.system = system;
    this.settings = settings;
  }

  get messages(): readonly GenerateMessage[] {
    const { system } = this;
    return system === undefined ? this.#messages : [{ role: 'system', content: system }, ...this.#messages];
  }

  clear(): void {
    this.#messages = [];
  }

  /**
   * Calls `take` with each token. An answer that the signal stops stays in the conversation.
   * @throws the signal's reason; errors of `generate`. A message without any answer is dropped.
   */
  async complete(
    content: string | readonly GeneratePart[],
    take: (token: ReplyToken) => void,
    signal: AbortSignal,
  ): Promise<Reply> {
    this.#messages.push({ role: 'user', content });
    let text = '';
    try {
      const request = { messages: this.messages, ...this.settings } as MessagesRequest;
      const stream = this.model.generate(request, { signal });
      for await (const token of stream) {
        text += token.text;
        take(token);
      }
      return await stream.result();
    } finally {
      if (text === '') this.#messages.pop();
      else this.#messages.push({ role: 'assistant', content: text });
    }
  }
}
