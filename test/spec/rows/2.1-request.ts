/** Table 2.1: the fields of a chat completion request. */
import * as assert from 'uvu/assert';
import type { SamplingSettings } from '../../../ts/options/sampling-table.js';
import type { HostedMode } from '../../support/modes.js';
import { readJson } from '../../support/read-json.js';
import { ALL, type Row, RUNTIME } from '../row.js';

async function refuses(mode: HostedMode, body: Record<string, unknown>, param: string, code: string): Promise<void> {
  const { status, body: text, job } = await mode.reach(body);
  const { error } = JSON.parse(text);
  assert.equal([status, error.param, error.code], [400, param, code]);
  assert.is(job, undefined);
}

/** A number that steers the sampling: its default, a value of its own, and values that are none. */
function samplingRow(
  field: string,
  setting: keyof SamplingSettings,
  { modes = ALL, unset, sent, impossible }: { modes?: Row['modes']; unset: number; sent: number; impossible: number },
): Row {
  return {
    row: `2.1 ${field}`,
    says: `optional, ${unset} unless sent`,
    modes,
    check: async (mode) => {
      assert.is((await mode.reach()).job?.sampling[setting], unset);
      assert.is((await mode.reach({ [field]: null })).job?.sampling[setting], unset);
      const { job, ignored } = await mode.reach({ [field]: sent });
      assert.equal([job?.sampling[setting], ignored], [sent, undefined]);
      await refuses(mode, { [field]: String(sent) }, field, 'invalid_type');
      await refuses(mode, { [field]: impossible }, field, 'invalid_value');
    },
  };
}

/** A field of other modes changes nothing, and the reply says so. */
function foreignRow(field: string, setting: keyof SamplingSettings, modes: Row['modes']): Row {
  return {
    row: `2.1 ${field}`,
    says: 'is a field of other modes',
    modes,
    check: async (mode) => {
      const { job, ignored, status } = await mode.reach({ [field]: 'nonsense' });
      assert.equal([status, ignored], [200, field]);
      assert.is(job?.sampling[setting], mode.profile.sampling[setting]);
    },
  };
}

export const requestRows: Row[] = [
  {
    row: '2.1 model',
    says: 'string, required',
    modes: ALL,
    check: async (mode) => {
      await refuses(mode, { model: undefined }, 'model', 'missing_required_parameter');
      await refuses(mode, { model: 1 }, 'model', 'invalid_type');
    },
  },
  {
    row: '2.1 messages',
    says: 'array, required, in order',
    modes: ALL,
    check: async (mode) => {
      await refuses(mode, { messages: undefined }, 'messages', 'missing_required_parameter');
      await refuses(mode, { messages: 'Hi' }, 'messages', 'invalid_type');
      await refuses(mode, { messages: [] }, 'messages', 'invalid_value');
      const messages = ['a', 'b', 'c'].map((content, index) => ({ role: index % 2 ? 'assistant' : 'user', content }));
      assert.is((await mode.reach({ messages })).job?.prompt, '<user>a<assistant>b<user>c');
    },
  },
  {
    row: '2.1 stream',
    says: 'boolean, optional; true sends chunks',
    modes: ALL,
    check: async (mode) => {
      await refuses(mode, { stream: 'true' }, 'stream', 'invalid_type');
      for (const stream of [undefined, false]) {
        const reply = await mode.chat({ stream });
        assert.match(String(reply.headers.get('content-type')), /^application\/json/);
        assert.is((await readJson(reply)).object, 'chat.completion');
      }
      const { events } = await mode.stream();
      assert.ok(events.every(({ object }) => object === 'chat.completion.chunk'));
    },
  },
  samplingRow('temperature', 'temperature', { unset: 1, sent: 0.25, impossible: -0.1 }),
  {
    row: '2.1 temperature',
    says: '0.0 is deterministic',
    modes: ALL,
    check: async (mode) => {
      const ask = () => mode.answer({ temperature: 0.0, messages: [{ role: 'user', content: 'Tell me something' }] });
      assert.is(await ask(), await ask());
    },
  },
  samplingRow('top_p', 'topP', { unset: 1, sent: 0.5, impossible: 1.1 }),
  samplingRow('top_k', 'topK', { modes: ['desktop'], unset: 40, sent: 7, impossible: -2 }),
  samplingRow('top_k', 'topK', { modes: RUNTIME, unset: 50, sent: 7, impossible: -2 }),
  {
    row: '2.1 max_tokens',
    says: 'integer, optional, no default',
    modes: ALL,
    check: async (mode) => {
      assert.is((await mode.reach()).job?.maxTokens, null);
      assert.is((await mode.reach({ max_tokens: 12 })).job?.maxTokens, 12);
      await refuses(mode, { max_tokens: 0 }, 'max_tokens', 'invalid_value');
      await refuses(mode, { max_tokens: '12' }, 'max_tokens', 'invalid_type');
      const { choices, usage } = await readJson(await mode.chat({ max_tokens: 3 }));
      assert.equal([choices[0].finish_reason, usage.completion_tokens], ['length', 3]);
    },
  },
  samplingRow('repeat_penalty', 'repeatPenalty', { modes: ['desktop'], unset: 1, sent: 1.25, impossible: 0 }),
  foreignRow('repeat_penalty', 'repeatPenalty', RUNTIME),
  samplingRow('repetition_penalty', 'repeatPenalty', { modes: RUNTIME, unset: 1, sent: 1.25, impossible: 0 }),
  foreignRow('repetition_penalty', 'repeatPenalty', ['desktop']),
  samplingRow('min_p', 'minP', { modes: RUNTIME, unset: 0, sent: 0.15, impossible: 1.5 }),
  foreignRow('min_p', 'minP', ['desktop']),
  {
    row: '2.1 stop',
    says: 'string or array of strings; in every mode',
    modes: ALL,
    check: async (mode) => {
      assert.equal((await mode.reach({ stop: 'END' })).job?.stop, ['END']);
      assert.equal((await mode.reach({ stop: ['a', 'b'] })).job?.stop, ['a', 'b']);
      await refuses(mode, { stop: 5 }, 'stop', 'invalid_type');
      assert.is(await mode.answer({ stop: '5' }), '3, 4, ');
      assert.is(await mode.answer({ stop: [', 8', ', 7'] }), '3, 4, 5, 6');
    },
  },
  {
    row: '2.1 non-standard parameters',
    says: 'are top-level fields of the body',
    modes: ALL,
    check: async (mode) => {
      const penalty = mode.mode === 'desktop' ? 'repeat_penalty' : 'repetition_penalty';
      const { job, ignored } = await mode.reach({ top_k: 3, [penalty]: 1.5 });
      assert.equal([job?.sampling.topK, job?.sampling.repeatPenalty, ignored], [3, 1.5, undefined]);
    },
  },
  {
    row: '2.1 fields that nobody knows',
    says: 'are ignored, and named',
    modes: ALL,
    check: async (mode) => {
      const reply = await mode.chat({ temprature: 0.5, quux: 1, max_tokens: 1 });
      assert.is(reply.status, 200);
      assert.is(reply.headers.get('x-chasqui-ignored'), 'temprature;did-you-mean=temperature, quux');
    },
  },
];
