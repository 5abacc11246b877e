/** A chat with an endless completion. */
import type { RunningDesktop } from './start-desktop.js';

export const MODEL = 'chasqui-demo';

/** The context of the demo model has room for more tokens than a test waits for. */
export const ENDLESS = { ignore_eos: true, max_tokens: 60_000 };

export async function loadLongModel(app: RunningDesktop): Promise<void> {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: 65_536 } });
}

/** Returns the id of a chat with one question, `q`. */
export async function longChat(app: RunningDesktop, title = 'Long'): Promise<string> {
  const messages = [{ id: 'q', parent: null, role: 'user', content: `${title}: tell me a story.` }];
  const chat = { title, model: MODEL, settings: ENDLESS, messages, current: 'q' };
  return (await app.done('POST', '/api/v1/chats', chat)).id;
}
