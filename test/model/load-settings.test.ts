// What llama.cpp is told about reading a model's file and about its context: a model answers with it, or says what is wrong.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type GenerateRequest, type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { writeDecoder } from '../support/random-model.js';
import { splitModel } from '../support/split-model.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'settings-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const COUNT: GenerateRequest = { messages: [{ role: 'user', content: 'Count from 3 to 9.' }], temperature: 0 };

async function withModel<T>(
  options: LoadOptions,
  body: (model: Model) => Promise<T>,
  file = demoModelPath,
): Promise<T> {
  const model = await loadModel(file, { contextSize: 256, parallel: 2, threads: 1, ...options });
  try {
    return await body(model);
  } finally {
    await model.close();
  }
}

async function answer(model: Model, request: GenerateRequest = COUNT): Promise<{ text: string; cached: number }> {
  let text = '';
  for await (const token of model.generate(request)) {
    text += token.text;
    if (token.finish) return { text, cached: token.finish.cachedTokens };
  }
  throw new Error('the stream ended without a finish');
}

async function refusal(options: LoadOptions, file = demoModelPath): Promise<ChasquiError> {
  try {
    await withModel(options, async () => undefined, file);
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error('it was loaded');
}

const SETTINGS: LoadOptions[] = [
  { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0' },
  { cacheTypeK: 'f32', cacheTypeV: 'f32' },
  { cacheTypeK: 'q8_0', flashAttention: 'off' },
  { cacheTypeK: 'bf16', cacheTypeV: 'q8_0', flashAttention: 'on' },
  { flashAttention: 'off' },
  { mmap: false },
  { mmap: false, mlock: true },
  { repack: false },
  { batchSize: 64, ubatchSize: 16 },
  { threads: 1, threadsBatch: 2 },
  { threads: 2, threadsBatch: 1 },
  { kvOffload: false, opOffload: false, mmprojOffload: false },
  { cpuMoe: true, overrideTensor: ['ffn_up=CPU,ffn_down=CPU'] },
  { ropeFreqBase: 0, ropeFreqScale: 1, yarnExtFactor: -1 },
];

for (const settings of SETTINGS) {
  test(`answers with ${JSON.stringify(settings)}, and from what is cached`, async () => {
    await withModel(settings, async (model) => {
      assert.match((await answer(model)).text, /3.*4.*5.*6.*7.*8.*9/);
      const again = await answer(model);
      assert.match(again.text, /3.*4.*5.*6.*7.*8.*9/);
      assert.ok(again.cached > 0, 'the prompt was cached');
    });
  });
}

test('values of fewer bits need flash attention', async () => {
  const { code, message } = await refusal({ cacheTypeV: 'q8_0', flashAttention: 'off' });
  assert.is(code, 'invalid_options');
  assert.match(message, 'Values can be stored as q8_0 with flash attention only');
});

const UNKNOWN: LoadOptions[] = [
  { mmprojDevice: 'GPU9' },
  { draftModel: demoModelPath, draftDevice: 'GPU9' },
  { device: 'GPU9' },
];

for (const options of UNKNOWN) {
  test(`refuses ${Object.keys(options).join(' and ')} if the device does not exist`, async () => {
    const { code, message } = await refusal(options);
    assert.is(code, 'invalid_options');
    assert.match(message, 'There is no device `GPU9`');
  });
}

test('a draft model has types of its own', async () => {
  const draft = { draftModel: demoModelPath, draftMax: 4 };
  await withModel({ ...draft, draftCacheTypeK: 'q8_0', draftCacheTypeV: 'q8_0' }, async (model) => {
    assert.match((await answer(model)).text, /3.*4.*5.*6.*7.*8.*9/);
  });
  const { code } = await refusal({ ...draft, draftCacheTypeV: 'q4_0', flashAttention: 'off' });
  assert.is(code, 'invalid_options');
});

test('load options override the settings in the file', async () => {
  await withModel({ overrideKv: ['llama.context_length=int:777'] }, async ({ model }) => {
    assert.is(model.trainedContextLength, 777);
  });
});

const fatal = ['llama.expert_count=int:100000', 'llama.block_count=int:0', 'llama.block_count=int:100000'];
const misfitting = ['llama.context_length=float:7', 'tokenizer.ggml.tokens=str:a', 'gpt.context_length=int:7'];

for (const entry of [...fatal, ...misfitting]) {
  test(`${entry} is refused, and ends nothing`, async () => {
    const { code, message } = await refusal({ overrideKv: [entry] });
    assert.is(code, 'invalid_options');
    assert.match(
      message,
      fatal.includes(entry) ? /llama\.cpp fails with it: .* SIGABRT/ : /does not fit the model's file/,
    );
  });
}

test('a template goes by a name of llama.cpp, and an unknown name is refused', async () => {
  await withModel({ chatTemplate: 'llama3' }, async (model) => {
    const { prompt } = await model.render([{ role: 'user', content: 'Hi' }]);
    const head = (role: string) => `<|start_header_id|>${role}<|end_header_id|>\n\n`;
    assert.is(prompt, `${head('user')}Hi<|eot_id|>${head('assistant')}`);
  });
  const { code, message } = await refusal({ chatTemplate: 'lama3' });
  assert.is(code, 'invalid_options');
  assert.match(message, /neither a Jinja template nor the name of one .* llama3,/);
});

test('a template with a syntax error is refused with the reason', async () => {
  const { code, message } = await refusal({ chatTemplate: '{{ messages' });
  assert.is(code, 'model_load_failed');
  assert.match(message, /chat template cannot be read: .*Expected }}/);
});

test('other positions are other texts', async () => {
  const stretched = await withModel({ ropeScaling: 'linear', ropeScale: 64 }, (model) => answer(model));
  const plain = await withModel({}, (model) => answer(model));
  assert.is.not(stretched.text, plain.text);
});

test('an expression that is none, and a device that is not there, are named', async () => {
  const expression = await refusal({ overrideTensor: ['(=CPU'] });
  assert.is(expression.code, 'invalid_options');
  assert.match(expression.message, '`(` is not a regular expression');
  const device = await refusal({ overrideTensor: ['exps=CUDA7'] });
  assert.is(device.code, 'invalid_options');
  assert.match(device.message, '`CUDA7`');
});

test('samplers that a model is loaded with hold until a request says otherwise', async () => {
  await withModel({ temperature: 2, seed: 5, topK: 0, samplers: 'temperature' }, async (model) => {
    assert.equal(model.model.sampling, { temperature: 2, seed: 5, topK: 0, samplers: ['temperature'] });
    const { temperature: _, ...open } = { ...COUNT, maxTokens: 30, cachePrompt: false };
    const wild = await answer(model, open as GenerateRequest);
    assert.is((await answer(model, open as GenerateRequest)).text, wild.text, 'the seed is that of the options');
    assert.not.match(wild.text, /3.*4.*5.*6.*7.*8.*9/);
    assert.match((await answer(model, { ...COUNT, samplers: [], temperature: 0 })).text, /3.*4.*5.*6.*7.*8.*9/);
  });
});

const SAMPLERS: Partial<GenerateRequest>[] = [
  { typicalP: 0.5 },
  { topNSigma: 1 },
  { xtcProbability: 1, xtcThreshold: 0.05 },
  { dynatempRange: 0.5 },
  { mirostat: 1 },
  { mirostat: 2, mirostatTau: 2 },
  { samplers: ['top_k', 'adaptive_p'], topK: 20, adaptiveTarget: 0.3 },
  { dryMultiplier: 1, dryAllowedLength: 1, drySequenceBreakers: ['\n', 'small'] },
  { samplers: ['top_k', 'temperature'], topK: 4 },
  { repeatLastN: -1, repeatPenalty: 1.1, typicalP: 0.9 },
];

for (const sampler of SAMPLERS) {
  test(`the same seed draws the same text with ${JSON.stringify(sampler)}, another draws others`, async () => {
    await withModel({}, async (model) => {
      const prompt = 'The cat and the dog';
      const draw = (seed: number) =>
        answer(model, {
          prompt,
          maxTokens: 40,
          ignoreEos: true,
          cachePrompt: false,
          seed,
          ...sampler,
        } as GenerateRequest);
      const { text } = await draw(1);
      assert.ok(text.length > 0);
      assert.is((await draw(1)).text, text);
      const others = await Promise.all([2, 3, 4].map((seed) => draw(seed)));
      assert.ok(others.some((other) => other.text !== text));
    });
  });
}

test('a grammar holds with every sampler', async () => {
  await withModel({}, async (model) => {
    const grammar = {
      gbnf: 'root ::= [0-9]{8}',
      lazy: false,
      triggers: [],
      prefill: '',
      thinkingStart: '',
      thinkingEnds: [],
    };
    for (const sampler of SAMPLERS) {
      const { text } = await answer(model, { prompt: 'Digits: ', seed: 3, grammar, ...sampler } as GenerateRequest);
      assert.match(text, /^\d{8}$/, JSON.stringify(sampler));
    }
  });
});

test('dry keeps a text from repeating itself', async () => {
  await withModel({ contextSize: 512 }, async (model) => {
    const prompt = 'a b c d e f g '.repeat(8);
    const ask = (dryMultiplier: number) =>
      answer(model, { prompt, maxTokens: 40, ignoreEos: true, temperature: 0, dryMultiplier, dryPenaltyLastN: -1 });
    assert.is.not((await ask(5)).text, (await ask(0)).text);
  });
});

test('breakers beyond the limit are refused', async () => {
  await withModel({}, async (model) => {
    try {
      await answer(model, { prompt: 'a', dryMultiplier: 1, drySequenceBreakers: Array(17).fill('x') });
      assert.unreachable();
    } catch (error) {
      assert.is((error as ChasquiError).code, 'invalid_value');
      assert.match((error as ChasquiError).message, /`drySequenceBreakers` is .* a list of at most 16/);
    }
  });
});

test('variables of the template are those of the options, unless the request has its own', async () => {
  const template = path.join(folder, 'template.jinja');
  fs.writeFileSync(template, '{{ mood }} {{ enable_thinking }} {{ messages[0].content }}');
  const options: LoadOptions = {
    chatTemplateFile: template,
    chatTemplateKwargs: '{"mood": "calm"}',
    reasoning: 'off',
  };
  await withModel(options, async (model) => {
    const promptWith = async (templateKwargs: object) =>
      (await model.render([{ role: 'user', content: 'Hi' }], { templateKwargs: { ...templateKwargs } })).prompt;
    assert.match(await promptWith({}), /^calm False Hi/);
    assert.match(await promptWith({ mood: 'wild', enable_thinking: true }), /^wild True Hi/);
  });
});

test('a model in parts is loaded from its first', async () => {
  const parts = splitModel(demoModelPath, folder, 3);
  const [first = '', second = '', third = ''] = parts;
  const whole = await withModel({}, (model) => answer(model));
  await withModel(
    {},
    async (model) => {
      assert.is(model.model.id, 'chasqui-demo');
      assert.is((await answer(model)).text, whole.text);
    },
    first,
  );
  assert.match((await refusal({}, second)).message, /first split/);
  fs.rmSync(third);
  assert.match((await refusal({}, first)).message, /00003-of-00003/);
});

test('a context is as long as the model was trained for, where there is memory and nobody says otherwise', async () => {
  const file = writeDecoder(path.join(folder, 'long.gguf'), 'starcoder', 8192);
  const lengthWith = async (options: LoadOptions) => {
    const model = await loadModel(file, { parallel: 1, threads: 1, ...options });
    const { contextLength } = model.model;
    await model.close();
    return contextLength;
  };
  assert.is(await lengthWith({}), 8192);
  assert.is(await lengthWith({ fit: 'off' }), 4096);
  assert.is(await lengthWith({ contextSize: 512 }), 512);
  assert.is(await lengthWith({ fitCtx: 8192 }), 8192);
});

test.run();
