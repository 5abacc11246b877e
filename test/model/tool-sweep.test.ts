/**
 * Required calls of a model at a high temperature, for tool sets and chat templates: exactly one call that validates against
 * its schema. CHASQUI_SWEEP: seeds per template and tool set, for all templates; by default one, for a few templates.
 */
import fs from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel } from '../../ts/index.js';
import { bounded, type Schema } from '../support/bounded-schema.js';
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';

const test = suite('model: required calls of every template');

const FEW = ['muse-glimmer', 'Qwen3-Coder', 'google-gemma-4-31B-it', 'openai-gpt-oss-120b'];
const seeds = Number(process.env.CHASQUI_SWEEP ?? 1);
const templates = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates');
const all = fs.readdirSync(templates).filter((name) => name.endsWith('.jinja'));
const names = process.env.CHASQUI_SWEEP === undefined ? FEW.map((name) => `${name}.jinja`) : all;

interface Tool {
  name: string;
  description: string;
  parameters: Schema;
}

const given: Record<string, Tool[]> = JSON.parse(
  fs.readFileSync(path.join(root, 'test', 'llama', 'tool-sets.json'), 'utf8'),
);
const sets = Object.fromEntries(
  Object.entries(given).map(([set, tools]) => [
    set,
    tools.map((tool) => ({ ...tool, parameters: bounded(tool.parameters) })),
  ]),
);
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = new Map(
  Object.entries(sets).flatMap(([set, tools]) =>
    tools.map((tool) => [`${set}/${tool.name}`, ajv.compile(tool.parameters)] as const),
  ),
);

test('each reply is one call that validates', async () => {
  const wrong: string[] = [];
  for (const name of names) {
    const chatTemplate = fs.readFileSync(path.join(templates, name), 'utf8');
    const model = await loadModel(demoModelPath, { chatTemplate, contextSize: 16_384, parallel: 7, threads: 1 });
    const jobs = Object.entries(sets).flatMap(([set, tools]) =>
      Array.from({ length: seeds }, async (_, seed) => {
        const { toolCalls, text, finish } = await model
          .generate({
            messages: [{ role: 'user', content: 'Go.' }],
            tools,
            toolChoice: 'required',
            parallelToolCalls: false,
            reasoningBudget: 16,
            temperature: 1,
            seed,
            maxTokens: 1500,
          })
          .result();
        const [call] = toolCalls;
        const validate = validators.get(`${set}/${call?.name}`);
        const isRight =
          toolCalls.length === 1 &&
          text === '' &&
          finish.reason === 'tool_calls' &&
          validate?.(JSON.parse(call?.arguments ?? ''));
        if (!isRight) wrong.push(`${name}, ${set}, ${seed}: ${finish.reason}, ${text}${JSON.stringify(toolCalls)}`);
      }),
    );
    await Promise.all(jobs);
    await model.close();
  }
  const total = names.length * Object.keys(sets).length * seeds;
  assert.equal(wrong, [], `${total - wrong.length} of ${total}`);
  if (process.env.CHASQUI_SWEEP !== undefined) console.log(`${total} of ${total}`);
});

test.run();
