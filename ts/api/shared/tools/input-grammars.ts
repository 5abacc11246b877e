/**
 * The input grammars of custom tools. A template writes the whole schema of a tool into the prompt. The schema
 * therefore contains only a placeholder, which the grammar of the schema replaces.
 */
import { createHash } from 'node:crypto';
import type { Grammar } from '../../../engine/job.js';
import { ChasquiError } from '../../../errors.js';
import { ConversionBudget } from './grammars/conversion-budget.js';
import { readDefinition, type Syntax } from './grammars/enforced-text.js';
import { DefinitionError } from './grammars/grammar-tree.js';
import type { Gbnf } from './grammars/json-text-gbnf.js';
import type { CustomFormat } from './tool-schema.js';

/** Limit of all definitions of a request together, in UTF-16 units. Later ones only appear in the prompt. */
const MAX_DEFINITIONS_LENGTH = 64 * 1024;

const DIGEST_LENGTH = 16;
/** Placeholder for the prefix of names, with the same length. Rules never contain this character: it is escaped. */
const PLACE_OF_BEGINNING = '\0'.repeat('input-'.length + DIGEST_LENGTH);

interface InputGrammar extends Gbnf {
  tool: string;
}

/** A pseudo field for the pattern of a tool, if the format of the template cannot contain its grammar. */
export function patternField(tool: string): string {
  return `input_grammar.${tool}`;
}

function signOf(tool: string): string {
  return `the grammar in the description of ${tool}`;
}

const SIGN_IN_GRAMMAR = new RegExp(`"${signOf('([^"]*)')}"`, 'g');

export class InputGrammars {
  readonly #grammars: InputGrammar[] = [];
  readonly #budget = new ConversionBudget();
  #length = 0;

  /**
   * Returns the pattern for the input of a tool with this format, or null if the format permits any text or cannot be
   * enforced. `origin`: the field in the request. Throws `invalid_grammar` for an invalid format.
   */
  add(tool: string, format: CustomFormat, origin: string): string | null {
    const { syntax = 'lark', definition } = format.grammar ?? format;
    if (format.type !== 'grammar' || definition === undefined) return null;
    this.#length += definition.length;
    if (this.#length > MAX_DEFINITIONS_LENGTH) return null;
    const gbnf = this.#read(syntax, definition, `${origin}${format.grammar ? '.grammar' : ''}.definition`);
    if (gbnf === null) return null;
    this.#grammars.push({ tool, ...gbnf });
    return `^${signOf(tool)}$`;
  }

  /**
   * Inserts the grammars of the inputs into the grammar of the completion, and returns the `patternField` of those
   * without a place in it.
   */
  enforce(grammar: Grammar | null): { grammar: Grammar | null; passedOver: string[] } {
    if (grammar === null || this.#grammars.length === 0) return { grammar, passedOver: [] };
    const byTool = new Map(this.#grammars.map((each) => [each.tool, each]));
    const placed = new Set<InputGrammar>();
    const withRoots = grammar.gbnf.replace(SIGN_IN_GRAMMAR, (literal: string, tool: string) => {
      const own = byTool.get(tool);
      if (own === undefined) return literal;
      placed.add(own);
      return own.root;
    });
    // Some templates do not write string arguments as JSON.
    const withoutPlace = this.#grammars.filter((each) => !placed.has(each));
    // The digest makes the names unpredictable, so they cannot collide with other rules.
    const digest = createHash('sha256').update(grammar.gbnf).digest('hex').slice(0, DIGEST_LENGTH);
    const gbnf = [`${withRoots.trimEnd()}\n`, ...[...placed].map(({ rules }) => rules)]
      .join('')
      .replaceAll(PLACE_OF_BEGINNING, `input-${digest}`);
    return { grammar: { ...grammar, gbnf }, passedOver: withoutPlace.map(({ tool }) => patternField(tool)) };
  }

  #read(syntax: Syntax, definition: string, param: string): Gbnf | null {
    const prefix = `${PLACE_OF_BEGINNING}-${this.#grammars.length}`;
    try {
      return readDefinition(syntax, definition, prefix, this.#budget);
    } catch (thrown) {
      if (!(thrown instanceof DefinitionError)) throw thrown;
      const what = syntax === 'lark' ? 'Lark grammar' : 'regular expression';
      throw new ChasquiError('invalid_grammar', `\`${param}\` is not a valid ${what}: ${thrown.message}.`, param);
    }
  }
}
