// What `/apply-template` makes of real templates, with and without the beginning of a completion.
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';

/** Templates and the start of their completions. */
const BEGINNINGS = {
  'meta-llama-Llama-3.3-70B-Instruct': '<|start_header_id|>assistant<|end_header_id|>\n\n',
  'Qwen-QwQ-32B': '<|im_start|>assistant\n<think>\n',
  'openai-gpt-oss-120b': '<|start|>assistant',
  'google-gemma-2-2b-it': '<start_of_turn>model\n',
  'Qwen3-Coder': '<|im_start|>assistant\n',
};

for (const [name, beginning] of Object.entries(BEGINNINGS)) {
  test(`${name}: add_generation_prompt`, async () => {
    const chatTemplateFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', `${name}.jinja`);
    const engine = await loadModel(demoModelPath, { contextSize: 256, parallel: 1, threads: 1, chatTemplateFile });
    const app = buildApp(ManagedPool.of(engine), runtime);
    const promptOf = async (fields: object): Promise<string> => {
      const payload = { messages: [{ role: 'user', content: 'What is today?' }], ...fields };
      const reply = await app.inject({ method: 'POST', url: '/apply-template', payload });
      assert.is(reply.statusCode, 200, reply.body);
      return reply.json().prompt;
    };
    const whole = await promptOf({});
    assert.ok(whole.endsWith(beginning), whole);
    assert.is(await promptOf({ add_generation_prompt: true }), whole);
    assert.is(await promptOf({ add_generation_prompt: false }), whole.slice(0, -beginning.length));
    await app.close();
    await engine.close();
  });
}

for (const name of ['deepseek-ai-DeepSeek-V3.1', 'fireworks-ai-llama-3-firefunction-v2']) {
  test(`${name}: the prompt has the tools that the template ignores`, async () => {
    const chatTemplateFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', `${name}.jinja`);
    const engine = await loadModel(demoModelPath, { contextSize: 256, parallel: 1, threads: 1, chatTemplateFile });
    const app = buildApp(ManagedPool.of(engine), runtime);
    const parameters = { type: 'object', properties: { origin_code: { type: 'string' } } };
    const tools = [
      { type: 'function', function: { name: 'find_flights', description: 'Lists departures.', parameters } },
    ];
    const payload = { messages: [{ role: 'user', content: 'Hi </think> there' }], tools };
    const { prompt } = (await app.inject({ method: 'POST', url: '/apply-template', payload })).json();
    const parts = ['find_flights', 'Lists departures.', 'origin_code', 'Hi </think> there'];
    for (const part of parts) assert.ok(prompt.includes(part), prompt);
    await app.close();
    await engine.close();
  });
}

for (const name of ['mistralai-Mistral-Nemo-Instruct-2407', 'Mistral-Small-3.2-24B-Instruct-2506']) {
  test(`${name}: ids of calls may have any length`, async () => {
    const chatTemplateFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', `${name}.jinja`);
    const engine = await loadModel(demoModelPath, { contextSize: 2048, parallel: 1, threads: 1, chatTemplateFile });
    const app = buildApp(ManagedPool.of(engine), runtime);
    const user = { role: 'user', content: 'Hi' };
    const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
    const promptOf = async (id: string): Promise<string> => {
      const result = { role: 'tool', tool_call_id: id, content: 'Done' };
      const messages = [user, { role: 'assistant', content: '', tool_calls: [call(id)] }, result];
      const reply = await app.inject({ method: 'POST', url: '/apply-template', payload: { messages } });
      assert.is(reply.statusCode, 200, reply.body);
      return reply.json().prompt;
    };
    assert.match(await promptOf('abcdefgh1'), 'abcdefgh1');
    const prompt = await promptOf('call_0123456789abcdef');
    assert.not.match(prompt, 'call_0123');
    assert.is(await promptOf('call_0123456789abcdef'), prompt);
    assert.is.not(await promptOf('call_1'), prompt);
    const messages = [
      user,
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'look', arguments: {} } }] },
      { role: 'tool', tool_name: 'look', content: 'Done' },
    ];
    const payload = { model: engine.model.id, messages, stream: false, options: { num_predict: 1 } };
    const chat = await app.inject({ method: 'POST', url: '/api/chat', payload });
    assert.is(chat.statusCode, 200, chat.body);
    await app.close();
    await engine.close();
  });
}

test.run();
