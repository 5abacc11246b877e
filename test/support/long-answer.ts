/** A chat with an endless completion. */
import type { RunningDesktop } from './start-desktop.js';

export const MODEL = 'chasqui-demo';

/** More tokens than a test waits for. The demo model computes a thousand in 80 ms if it can draft them. */
export const ENDLESS_CONTEXT = 65_536;
export const ENDLESS = { ignore_eos: true, max_tokens: 60_000 };

export async function loadLongModel(app: RunningDesktop): Promise<void> {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: ENDLESS_CONTEXT } });
}

/** Returns the id of a chat with one question, `q`. */
export async function longChat(app: RunningDesktop, title = 'Long'): Promise<string> {
  const messages = [{ id: 'q', parent: null, role: 'user', content: `${title}: tell me a story.` }];
  const chat = { title, model: MODEL, settings: ENDLESS, messages, current: 'q' };
  return (await app.done('POST', '/api/v1/chats', chat)).id;
}
