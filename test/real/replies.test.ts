// JSON and calls of real models: every reply validates against its schema.
import fs from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Model } from '../../ts/index.js';
import { withModel } from '../support/answer.js';
import { bounded, type Schema } from '../support/bounded-schema.js';
import { root } from '../support/places.js';
import { gemma3, smolLM2 } from '../support/real-models.js';
import { WALKED_SCHEMAS } from '../support/walked-schemas.js';

interface Tool {
  name: string;
  parameters: Schema;
}

const SETS: Record<string, Tool[]> = JSON.parse(
  fs.readFileSync(path.join(root, 'test', 'llama', 'tool-sets.json'), 'utf8'),
);
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const common = { temperature: 0.7, seed: 1, maxTokens: 400 };
/** Small models do not end strings and lists without a maximum length, which many of the schemas have. */
const LEAST_COMPLETE = 0.6;

/** Undefined: valid, or cut off. */
async function writeJson(model: Model, schema: object, onComplete: () => void): Promise<string | undefined> {
  const messages = [{ role: 'user' as const, content: 'Write an example in JSON.' }];
  const request = { messages, jsonSchema: schema, ...common, maxTokens: 150 };
  const { text, finish } = await model.generate(request).result();
  if (finish.reason === 'length') return undefined;
  onComplete();
  return ajv.validate(schema, JSON.parse(text)) ? undefined : text;
}

async function callTool(model: Model, tools: readonly Tool[], seed: number): Promise<string | undefined> {
  const messages = [{ role: 'user' as const, content: 'Tell me the weather in Quito.' }];
  const request = { messages, tools, toolChoice: 'required', parallelToolCalls: false, ...common, seed } as const;
  const { text, toolCalls, finish } = await model.generate(request).result();
  const [call] = toolCalls;
  const tool = tools.find(({ name }) => name === call?.name);
  const isValid =
    toolCalls.length === 1 &&
    text === '' &&
    finish.reason === 'tool_calls' &&
    ajv.validate(tool?.parameters ?? false, JSON.parse(call?.arguments ?? ''));
  return isValid ? undefined : `${finish.reason}: ${text}${JSON.stringify(toolCalls)}`;
}

async function wrongOf(replies: Record<string, Promise<string | undefined>>): Promise<Record<string, string>> {
  const wrong: Record<string, string> = {};
  for (const [name, reply] of Object.entries(replies)) {
    const reason = await reply;
    if (reason !== undefined) wrong[name] = reason;
  }
  return wrong;
}

const mapValues = <From, To>(record: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

for (const [name, fetchModel] of [
  ['SmolLM2-135M', smolLM2],
  ['Gemma 3 270M', gemma3],
] as const) {
  test(`${name}: replies validate against schemas, and forced calls against those of tools`, async () => {
    await withModel(fetchModel(), { contextSize: 8 * 2048, parallel: 8, threads: 2 }, async (model) => {
      let complete = 0;
      const count = () => {
        complete += 1;
      };
      assert.equal(await wrongOf(mapValues(WALKED_SCHEMAS, (schema) => writeJson(model, schema, count))), {});
      assert.ok(complete >= LEAST_COMPLETE * Object.keys(WALKED_SCHEMAS).length, `${complete} complete replies`);
      const sets = mapValues(SETS, (tools) => tools.map((tool) => ({ ...tool, parameters: bounded(tool.parameters) })));
      for (const seed of [1, 2]) {
        assert.equal(await wrongOf(mapValues(sets, (tools) => callTool(model, tools, seed))), {}, `seed ${seed}`);
      }
    });
  });
}

test.run();
