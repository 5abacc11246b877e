/** Converts constraints in the fields of vLLM and SGLang to `grammar` or `json_schema` of a chat body. */
import { ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { limitTextDepth } from '../json-schema/json-depth.js';
import { ConversionBudget } from '../tools/grammars/conversion-budget.js';
import { grammarOfChoices, readGrammar, type Syntax } from '../tools/grammars/enforced-text.js';
import { DefinitionError } from '../tools/grammars/grammar-tree.js';
import { constraintFields, type Kind, structuredOutputs } from './constraint-schema.js';
import type { FieldOrigins } from './field-origins.js';

const KIND_OF: Readonly<Record<string, Kind>> = {
  guided_json: 'json',
  guided_regex: 'regex',
  guided_choice: 'choice',
  guided_grammar: 'grammar',
  regex: 'regex',
  ebnf: 'grammar',
  structural_tag: 'structural_tag',
};

interface Constraint {
  kind: Kind;
  value: unknown;
  path: string;
}

/**
 * Replaces the constraint by a `grammar` or `json_schema`. Throws for two constraints, and for one that cannot be enforced.
 * `settings` are valid fields of a request.
 */
export function readConstraints<Settings extends object>(
  settings: Settings,
  origins: FieldOrigins,
): Omit<Settings, keyof typeof constraintFields | 'json_schema'> & {
  json_schema?: object;
  grammar?: string;
  grammarIsOfContent?: true;
} {
  const own: Record<string, unknown> = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !Object.hasOwn(constraintFields, name)),
  );
  if (typeof own.json_schema === 'string') own.json_schema = parseSchema(own.json_schema, 'json_schema');
  const [constraint, second] = constraintsOf(settings);
  const result = own as ReturnType<typeof readConstraints<Settings>>;
  if (constraint === undefined) return result;
  const other = second?.path ?? OTHER_CONSTRAINTS.find((name) => constrains(own[name]));
  if (other !== undefined) throw twoConstraints(constraint.path, origins.nameOf(other));
  const made = toField(constraint);
  for (const name of Object.keys(made)) origins.set(name, constraint.path);
  return { ...result, ...made, ...('grammar' in made && { grammarIsOfContent: true as const }) };
}

const OTHER_CONSTRAINTS = ['grammar', 'json_schema', 'response_format'];

function constrains(value: unknown): boolean {
  return value != null && (value as { type?: unknown }).type !== 'text';
}

function constraintsOf(settings: object): Constraint[] {
  const given = Object.entries(settings).flatMap(([name, value]): Constraint[] => {
    const kind = Object.hasOwn(KIND_OF, name) ? KIND_OF[name] : undefined;
    return kind === undefined ? [] : [{ kind, value, path: name }];
  });
  const { structured_outputs: outputs } = settings as { structured_outputs?: Record<string, unknown> };
  if (outputs === undefined) return given;
  const kinds = Object.keys(structuredOutputs.properties) as Kind[];
  const chosen = kinds.filter((kind) => outputs[kind] != null && outputs[kind] !== false);
  if (chosen.length === 0) {
    const message =
      '`structured_outputs` has no constraint: add `json`, `json_object`, `regex`, `choice` or `grammar`.';
    throw invalidValue(message, 'structured_outputs');
  }
  return [...given, ...chosen.map((kind) => ({ kind, value: outputs[kind], path: `structured_outputs.${kind}` }))];
}

function toField({ kind, value, path }: Constraint): { json_schema: object } | { grammar: string } {
  switch (kind) {
    case 'json':
      return { json_schema: typeof value === 'string' ? parseSchema(value, path) : (value as object) };
    case 'json_object':
      return { json_schema: { type: 'object' } };
    case 'choice':
      return { grammar: grammarOfChoices(value as string[]) };
    case 'regex':
      return { grammar: convert('regex', value as string, path) };
    case 'grammar':
      return { grammar: isGbnf(value as string) ? (value as string) : convert('lark', value as string, path) };
    case 'structural_tag':
      throw unsupportedParameter(`\`${path}\` is not supported: send a grammar.`, path);
  }
}

function parseSchema(json: string, path: string): object {
  limitTextDepth(json, path);
  try {
    const schema: unknown = JSON.parse(json);
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema;
  } catch {
    // Reported below.
  }
  throw invalidValue(`\`${path}\` must be a JSON schema, or the text of one.`, path);
}

/** Rules of GBNF have `::=`, those of Lark a colon. */
function isGbnf(grammar: string): boolean {
  return /^[ \t]*[\w-]+\s*::=/m.test(grammar);
}

function convert(syntax: Syntax, definition: string, path: string): string {
  const name = syntax === 'lark' ? 'grammar in GBNF or Lark' : 'regular expression';
  let gbnf: string | null = null;
  try {
    gbnf = readGrammar(syntax, definition, new ConversionBudget());
  } catch (thrown) {
    if (!(thrown instanceof DefinitionError)) throw thrown;
    throw new ChasquiError('invalid_grammar', `\`${path}\` is not a valid ${name}: ${thrown.message}.`, path);
  }
  if (gbnf !== null) return gbnf;
  const message = `\`${path}\` cannot be enforced: it is too large, or uses a feature that is not supported.`;
  throw new ChasquiError('invalid_grammar', message, path);
}

function twoConstraints(path: string, other: string): ChasquiError {
  return unsupportedParameter(`\`${path}\` and \`${other}\` cannot be used together.`, path);
}
