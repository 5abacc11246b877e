/** Converts the definition of a text to grammar rules, if it can be enforced. */
import type { ConversionBudget } from './conversion-budget.js';
import { toFollowable } from './followable-rules.js';
import { DefinitionError, NotEnforced, type RuleSet } from './grammar-tree.js';
import { type Gbnf, literalOf, toGbnf } from './json-text-gbnf.js';
import { parseLark } from './lark-grammar.js';
import { parseExpression } from './regular-expression.js';

export type Syntax = 'lark' | 'regex';

/** Limit in UTF-16 units. Longer definitions are not read. */
const MAX_DEFINITION_LENGTH = 32 * 1024;
/** Fixed cost of a definition, in steps. */
const STEPS_OF_DEFINITION = 400;

/**
 * Returns the rules of a definition, with names that begin with `prefix`, or null if it cannot be enforced. Throws
 * `DefinitionError` if the definition is invalid or matches no text. With `isJson` the rules are those of the text between
 * the quotes of a JSON string.
 */
export function readDefinition(
  syntax: Syntax,
  definition: string,
  prefix: string,
  budget: ConversionBudget,
  isJson = true,
): Gbnf | null {
  if (definition.length > MAX_DEFINITION_LENGTH) return null;
  try {
    budget.spend(STEPS_OF_DEFINITION);
    const rules = toFollowable(parse(syntax, definition, budget), budget);
    if (rules === null) throw new DefinitionError(definition, 0, 'no text follows it');
    return toGbnf(rules, prefix, budget, isJson);
  } catch (thrown) {
    if (thrown instanceof NotEnforced) return null;
    throw thrown;
  }
}

/** Returns a complete grammar of the text itself. */
export function readGrammar(syntax: Syntax, definition: string, budget: ConversionBudget): string | null {
  const gbnf = readDefinition(syntax, definition, 'text', budget, false);
  return gbnf && `root ::= ${gbnf.root}\n${gbnf.rules}`;
}

/** Returns a grammar that matches exactly these texts. */
export function grammarOfChoices(texts: readonly string[]): string {
  return `root ::= ${texts.map(literalOf).join(' | ')}\n`;
}

function parse(syntax: Syntax, definition: string, budget: ConversionBudget): RuleSet {
  if (syntax === 'lark') return parseLark(definition, budget);
  const tree = parseExpression({ definition, start: 0, end: definition.length, flags: '', isWhole: true, budget });
  return { start: 'text', rules: new Map([['text', tree]]) };
}
