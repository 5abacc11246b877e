// Validates the calls that tool-calls.cpp read from random strings of each template's grammar; parity.test.ts runs it.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toolCallsFile } from '../support/tool-calls-file.js';

const test = suite('llama: tool calls');

interface Call {
  template: string;
  set: string;
  choice: string;
  call: string;
  text: string;
}

interface Tool {
  name: string;
  parameters: object;
}

/** A day that exists, in this notation. */
const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.slice(0, 10) === text;

test('the arguments of every call validate against the schema of its tool', () => {
  const sets: Record<string, Tool[]> = JSON.parse(
    readFileSync(path.join(import.meta.dirname, 'tool-sets.json'), 'utf8'),
  );
  const ajv = new Ajv2020({ strict: false, formats: { date: isDate } });
  const validators = new Map(
    Object.entries(sets).flatMap(([set, tools]) =>
      tools.map((tool) => [`${set}/${tool.name}`, ajv.compile(tool.parameters)] as const),
    ),
  );
  const calls: Call[] = readFileSync(toolCallsFile, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  assert.ok(calls.length > 5000, `${calls.length} calls`);
  for (const { template, set, choice, call, text } of calls) {
    const where = `${template}, ${set}, ${choice}: ${call} of ${JSON.stringify(text)}`;
    const [, name, json = ''] = /^([^(]*)\((.*)\)$/s.exec(call) ?? [];
    const validate = validators.get(`${set}/${name}`);
    assert.ok(validate?.(JSON.parse(json)), `${where}: ${ajv.errorsText(validate?.errors)}`);
  }
});

interface KeywordCall {
  template: string;
  keyword: string;
  parameters: object;
  reported: boolean;
  /** The reason of a refusal. */
  refused?: string;
  call?: string;
}

test('each keyword of the arguments is enforced, or reported, or refused with a reason', () => {
  const ajv = new Ajv2020({ strict: false, formats: { date: isDate } });
  const lines = readFileSync(`${toolCallsFile}.keywords`, 'utf8').split('\n').filter(Boolean);
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  const enforced = new Set<string>();
  for (const line of lines) {
    const { template, keyword, parameters, reported, refused, call = '' }: KeywordCall = JSON.parse(line);
    if (reported || refused) continue;
    enforced.add(`${template} ${keyword}`);
    const schema = JSON.stringify(parameters);
    const validate = validators.get(schema) ?? ajv.compile(parameters);
    validators.set(schema, validate);
    assert.ok(
      validate(JSON.parse(call.slice(2, -1))),
      `${template}: ${call} of ${schema}: ${ajv.errorsText(validate.errors)}`,
    );
  }
  assert.ok(enforced.size > 200, `${enforced.size} keywords of formats`);
});

test.run();
