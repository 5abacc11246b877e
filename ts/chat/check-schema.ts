/**
 * JSON Schemas of tools and response formats. A grammar enforces what llama.cpp's converter knows and passes over the
 * rest, and the reply names that. Where a request says `strict`, it is an error, unless OpenAI has the keyword there.
 */
import type { RenderedPrompt } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import { limitDepth } from './json-depth.js';
import { toReasoningBudget, toReasoningTags } from './to-job.js';
import { unenforced } from './unenforced.js';

/**
 * The length of all schemas of a request together, as JSON, in UTF-16 units. Templates write those of tools into the
 * prompt, even where no tool may be called.
 */
const MAX_SCHEMA_LENGTH = 512 * 1024;
/** Members of one object. The converter searches all members for each of them. */
const MAX_MEMBERS = 5000;

/** Checks the schemas of one request. */
export class SchemaCheck {
  #length = 0;

  check(schema: object, param: string, strict: boolean): void {
    limitDepth(schema, param);
    this.#limitLength(schema, param);
    limitMembers(schema, param);
    if (!strict) return;
    for (const part of unenforced(schema, param, true)) throw notEnforced(part);
  }

  #limitLength(schema: object, param: string): void {
    const { length } = JSON.stringify(schema);
    this.#length += length;
    if (this.#length <= MAX_SCHEMA_LENGTH) return;
    const what =
      length > MAX_SCHEMA_LENGTH
        ? `\`${param}\` is longer than`
        : `The JSON schemas up to \`${param}\` together are longer than`;
    throw new ChasquiError('invalid_value', `${what} ${MAX_SCHEMA_LENGTH / 1024} KiB.`, param);
  }
}

function limitMembers(schema: object, param: string): void {
  const todo: unknown[] = [schema];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const values: unknown[] = Object.values(next);
    if (!Array.isArray(next) && values.length > MAX_MEMBERS) {
      throw new ChasquiError('invalid_value', `An object in \`${param}\` has more than ${MAX_MEMBERS} members.`, param);
    }
    for (const value of values) if (typeof value === 'object') todo.push(value);
  }
}

/**
 * What a completion of this prompt does not obey: the parts of schemas that no grammar enforces, and a limit of reasoning
 * where reasoning cannot be told from the rest. At most `max`, and one more as a sign that there are more. Of a strict
 * schema that has passed the check, only such parts are left that `strict` allows.
 */
export function unenforcedParts(
  body: ChatCompletionRequest,
  rendered: Pick<RenderedPrompt, 'reasoning'>,
  max: number,
): string[] {
  const found: string[] = [];
  if (toReasoningTags(body, rendered) === null)
    found.push(...REASONING_LIMITS.filter((field) => toReasoningBudget({ [field]: body[field] }) !== null));
  for (const [schema, path] of schemasOf(body)) {
    found.push(...unenforcedOf(schema, path, max - found.length));
    if (found.length > max) return found;
  }
  return found;
}

/** The same of one schema, which is at this path. */
export function unenforcedOf(schema: object, path: string, max: number): string[] {
  const found: string[] = [];
  for (const part of unenforced(schema, path)) {
    found.push(part);
    if (found.length > max) return found;
  }
  return found;
}

const REASONING_LIMITS = ['reasoning_budget_tokens', 'thinking_budget_tokens'] as const;

function* schemasOf(body: ChatCompletionRequest): Generator<[object, string]> {
  const { tools, tool_choice: choice, response_format: format, json_schema: schema } = body;
  if (format?.json_schema?.schema) yield [format.json_schema.schema, 'response_format.json_schema.schema'];
  if (format?.schema) yield [format.schema, 'response_format.schema'];
  if (schema) yield [schema, 'json_schema'];
  if (choice === 'none') return;
  for (const [index, { function: tool }] of (tools ?? []).entries()) {
    if (tool.parameters) yield [tool.parameters, `tools[${index}].function.parameters`];
  }
}

function notEnforced(param: string): ChasquiError {
  return new ChasquiError(
    'unsupported_parameter',
    `\`${param}\` cannot be enforced, but the schema is to be obeyed strictly: leave it out, or do not ask for \`strict\`.`,
    param,
  );
}
