/**
 * The grammars that custom tools of a request bring for their input. A template shows the model all of a tool's schema,
 * so the schema has no more than a sign there, and the sign is replaced in the grammar that was made of it.
 */
import { createHash } from 'node:crypto';
import type { Grammar } from '../../engine/job.js';
import { ChasquiError } from '../../errors.js';
import type { CustomFormat } from '../../schemas/tool.js';
import { readDefinition } from './grammars/enforced-text.js';
import { DefinitionError, type RuleSet } from './grammars/grammar-tree.js';
import { toGbnf } from './grammars/json-text-gbnf.js';

/** All definitions of a request together, in UTF-16 units. Those after it are told to the model only. */
const MAX_DEFINITIONS_LENGTH = 64 * 1024;

interface InputGrammar {
  tool: string;
  rules: RuleSet;
}

/** What the pattern of a tool's input is called where it has no place. No chat body has such a field. */
export function patternField(tool: string): string {
  return `input_grammar.${tool}`;
}

function signOf(tool: string): string {
  return `the grammar in the description of ${tool}`;
}

export class InputGrammars {
  readonly #grammars: InputGrammar[] = [];
  #length = 0;

  /**
   * The pattern of the input of a tool with this format, which is `origin` in the request, or null where anything will do
   * or the format cannot be enforced. Throws `invalid_grammar` for what is no grammar.
   */
  add(tool: string, format: CustomFormat, origin: string): string | null {
    const { syntax = 'lark', definition } = format.grammar ?? format;
    if (format.type !== 'grammar' || definition === undefined) return null;
    this.#length += definition.length;
    if (this.#length > MAX_DEFINITIONS_LENGTH) return null;
    const rules = readOwn(syntax, definition, `${origin}${format.grammar ? '.grammar' : ''}.definition`);
    if (rules === null) return null;
    this.#grammars.push({ tool, rules });
    return `^${signOf(tool)}$`;
  }

  /** The grammar of a completion with those of the inputs, and the `patternField` of those that have no place in it. */
  enforce(grammar: Grammar | null): { grammar: Grammar | null; passedOver: string[] } {
    if (grammar === null || this.#grammars.length === 0) return { grammar, passedOver: [] };
    // Nobody can foresee the names, so no other rule has one of them.
    const prefix = `input-${createHash('sha256').update(grammar.gbnf).digest('hex').slice(0, 16)}`;
    const passedOver: string[] = [];
    let { gbnf } = grammar;
    for (const [index, { tool, rules }] of this.#grammars.entries()) {
      const { root, rules: text } = toGbnf(rules, `${prefix}-${index}`);
      const literal = `"${signOf(tool)}"`;
      // Some templates have forms for calls in which a string is not written as JSON.
      if (gbnf.includes(literal)) gbnf = `${gbnf.replaceAll(literal, root).trimEnd()}\n${text}`;
      else passedOver.push(patternField(tool));
    }
    return { grammar: { ...grammar, gbnf }, passedOver };
  }
}

function readOwn(syntax: 'lark' | 'regex', definition: string, param: string): RuleSet | null {
  try {
    return readDefinition(syntax, definition);
  } catch (thrown) {
    if (!(thrown instanceof DefinitionError)) throw thrown;
    const what = syntax === 'lark' ? 'Lark grammar' : 'regular expression';
    throw new ChasquiError('invalid_grammar', `\`${param}\` is no ${what}: ${thrown.message}.`, param);
  }
}
