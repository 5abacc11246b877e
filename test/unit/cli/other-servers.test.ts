import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HOSTING_OPTIONS, type HostingOptions } from '../../../ts/cli/options/hosting-option-table.js';
import { givenOptions } from '../../../ts/cli/options/table-options.js';
import { contextOf, warningsOf } from '../../../ts/cli/serve/announce.js';
import { modelsSettings, profileOf } from '../../../ts/cli/serve/hosting.js';
import { serverSettings } from '../../../ts/cli/serve/server-settings.js';
import { parseServe } from '../../../ts/cli/serve.js';
import { LOAD_OPTIONS } from '../../../ts/options/load-option-table.js';

const test = suite('cli: flags of other servers');

const parse = (...args: string[]) => parseServe(['node', 'chasqui', 'serve', ...args]);

test('flags for what is always on are accepted', () => {
  const flags =
    '--jinja --embeddings --reranking -cb --slots --enable-prefix-caching ' +
    '--swa-full -kvu --kv-unified --no-context-shift -bs --backend-sampling --no-cache-idle-slots --reasoning-format auto';
  assert.equal(parse(...flags.split(' '), '-m', 'x.gguf')?.model, ['x.gguf']);
  assert.is(parse('--jinjo'), undefined);
});

test('names of llama-server set the same options', () => {
  assert.is(parse('--no-models-autoload')?.autoload, false);
  const maxOf = (text: string) =>
    modelsSettings(givenOptions(HOSTING_OPTIONS, parse('--models-max', text) ?? {}, {})).maxModels;
  assert.is(maxOf('2'), 2);
  // The value of llama-server for no limit.
  assert.is(maxOf('0'), undefined);
  for (const flag of ['-n', '--predict', '--n-predict']) {
    assert.is(profileOf(parse(flag, '9') as HostingOptions).maxTokens, 9);
  }
});

test('placement flags of llama-server set the same options', () => {
  const given = (text: string) => givenOptions(LOAD_OPTIONS, parse(...text.split(' ')) ?? { refused: text }, {});
  for (const flag of ['--no-kv-offload', '-nkvo']) assert.equal(given(flag), { kvOffload: false });
  assert.equal(given('--no-op-offload'), { opOffload: false });
  assert.equal(given('--no-mmproj-offload'), { mmprojOffload: false });
  for (const flag of ['--mmproj-device', '-mmdev']) assert.equal(given(`${flag} CUDA1`), { mmprojDevice: 'CUDA1' });
  for (const flag of ['--spec-draft-device', '-devd']) assert.equal(given(`${flag} CUDA1`), { draftDevice: ['CUDA1'] });
  for (const flag of ['--spec-draft-ngl', '-ngld']) assert.equal(given(`${flag} 9`), { draftGpuLayers: 9 });
  assert.equal(given('--spec-draft-n-max 9 --spec-draft-n-min 2 --spec-draft-p-min 0.5'), {
    draftMax: 9,
    draftMin: 2,
    draftPMin: 0.5,
  });
});

test('--metrics is --metrics-names llamacpp', () => {
  const namesOf = (...args: string[]) => serverSettings(parse(...args) as HostingOptions).settings.metricsNames;
  assert.equal(namesOf(), []);
  assert.equal(namesOf('--metrics'), ['llamacpp']);
  assert.equal(namesOf('--metrics', '--metrics-names', 'llamacpp,vllm'), ['llamacpp', 'vllm']);
});

test('--no-ui is --no-webui', () => {
  for (const flag of ['--no-webui', '--no-ui']) assert.is(parse(flag)?.webui, false);
});

test('names of vLLM and LM Studio set the same options', () => {
  for (const flag of ['--max-model-len', '--context-length', '-c']) {
    const parsed = flag === '-c' ? parse('-c', '8192') : parse(flag, '8192');
    assert.is(parsed?.contextSize, 8192, flag);
  }
  assert.equal(parse('--served-model-name', 'me')?.alias, ['me']);
  assert.is(parse('--max-num-seqs', '8')?.parallel, 8);
});

test('--sleep-idle-seconds of llama-server sets --ttl, and -1 is its default', () => {
  const ttl = (seconds: string) =>
    givenOptions(HOSTING_OPTIONS, parse('--sleep-idle-seconds', seconds) ?? {}, { CHASQUI_TTL: '5' }).ttl;
  assert.equal([ttl('60'), ttl('-1')], [60, undefined]);
});

test('-c 0 is the default, as in llama.cpp', () => {
  const given = (...args: string[]) =>
    givenOptions(LOAD_OPTIONS, parse(...args) ?? {}, { CHASQUI_CTX_SIZE: '512' }).contextSize;
  assert.equal([given(), given('-c', '64'), given('-c', '0')], [512, 64, undefined]);
  assert.equal(givenOptions(LOAD_OPTIONS, {}, { CHASQUI_CTX_SIZE: '0' }), {});
});

test('options without effect, and contexts beyond the trained one, are warned about', () => {
  const cpu = { contextLength: 4096, trainedContextLength: 4096, placement: { devices: [], gpuLayers: 0, layers: 8 } };
  const gpu = { ...cpu, placement: { devices: ['CUDA0'], gpuLayers: 8, layers: 8 } };
  for (const gpuLayers of [10, 'all'] as const) {
    assert.match(warningsOf(cpu, { gpuLayers })[0] ?? '', '--gpu-layers has no effect: no GPU is used');
    assert.equal(warningsOf(gpu, { gpuLayers }), []);
  }
  for (const gpuLayers of [0, 'auto'] as const) assert.equal(warningsOf(cpu, { gpuLayers }), []);
  const rounded = warningsOf({ ...cpu, contextLength: 1024 }, { contextSize: 1000 });
  assert.equal(rounded, ['--ctx-size 1000 was rounded up to 1024']);
  assert.match(warningsOf({ ...cpu, contextLength: 8192 }, {})[0] ?? '', 'exceeds the 4096 tokens');
});

test('the start line states the context and, if it differs, the trained one', () => {
  const line = (contextLength: number, trainedContextLength: number, kvCells = 4 * contextLength) =>
    contextOf({ contextLength, trainedContextLength, parallel: 4, kvCells });
  const each = 'tokens for each of 4 completions at a time';
  assert.is(line(4096, 2048), `4096 ${each}; the model was trained for 2048`);
  assert.is(line(2048, 4096), `2048 ${each}; the model was trained for 4096, see --ctx-size`);
  for (const trained of [2048, 0]) assert.is(line(2048, trained), `2048 ${each}`);
  const shared = '4096 tokens, and 6000 for 4 completions at a time together, see --kv-budget';
  assert.is(line(4096, 2048, 6000), `${shared}; the model was trained for 2048`);
});

test.run();
