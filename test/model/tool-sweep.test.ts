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
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';

const test = suite('model: required calls of every template');

const FEW = ['muse-glimmer', 'Qwen3-Coder', 'google-gemma-4-31B-it', 'openai-gpt-oss-120b'];
const seeds = Number(process.env.CHASQUI_SWEEP ?? 1);
const templates = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates');
const all = fs.readdirSync(templates).filter((name) => name.endsWith('.jinja'));
const names = process.env.CHASQUI_SWEEP === undefined ? FEW.map((name) => `${name}.jinja`) : all;

interface Schema {
  [keyword: string]: unknown;
  type?: string | string[];
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Tool {
  name: string;
  description: string;
  parameters: Schema;
}

const LIMITS: Record<string, object> = {
  string: { maxLength: 12 },
  array: { maxItems: 2 },
  number: { minimum: -99, maximum: 99 },
  integer: { minimum: -99, maximum: 99 },
  object: { additionalProperties: false },
};

/** The model is too small to end a value that may be of any length. */
function bounded(schema: Schema): Schema {
  const each = (map?: Record<string, Schema>) =>
    map && Object.fromEntries(Object.entries(map).map(([name, part]) => [name, bounded(part)]));
  // Its alternatives have members of their own.
  const isOpen = schema.type === 'object' && (schema.oneOf || schema.allOf || (schema.anyOf && !schema.properties));
  const limits = isOpen ? [{ unevaluatedProperties: false }] : [schema.type ?? []].flat().map((type) => LIMITS[type]);
  const parts = {
    properties: each(schema.properties),
    $defs: each(schema.$defs),
    items: schema.items && bounded(schema.items),
    anyOf: schema.anyOf?.map(bounded),
    oneOf: schema.oneOf?.map(bounded),
    allOf: schema.allOf?.map(bounded),
  };
  return JSON.parse(JSON.stringify(Object.assign({}, ...limits, schema, parts)));
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
    const model = await loadModel(demoModelPath, { chatTemplate, contextSize: 4096, parallel: 7, threads: 1 });
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
