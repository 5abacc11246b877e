// Presets of the page. Imported files can have any settings.
import { test } from 'uvu';
import * as assert from 'uvu/assert';

interface Value<T> {
  value: T;
  peek(): T;
}

interface Session {
  readonly systemPrompt: Value<string>;
  readonly settings: Value<Readonly<Record<string, unknown>>>;
}

// Browser modules; these tests have no DOM types.
const stateOf = (name: string) => import(new URL(`../../../ts/desktop/ui/state/${name}.ts`, import.meta.url).href);
const { ChatSession } = (await stateOf('chat-session')) as { ChatSession: new () => Session };
const { applyPreset } = (await stateOf('presets')) as {
  applyPreset(session: Session, preset: { systemPrompt: string; settings: object }): void;
};

test('a preset permits no tools, and keeps the choices of the chat', () => {
  const session = new ChatSession();
  const preset = { systemPrompt: 'Hi', settings: { top_k: 1, tools: { javascript: 'chat' }, whenFull: 'rolling' } };
  applyPreset(session, preset);
  assert.equal([session.systemPrompt.value, session.settings.value], ['Hi', { top_k: 1 }]);
  session.settings.value = { tools: { javascript: 'ask' } };
  applyPreset(session, preset);
  assert.equal(session.settings.value, { top_k: 1, tools: { javascript: 'ask' } });
});

test.run();
