/** A definition of a text → grammar rules, if it can be enforced. */
import type { ConversionBudget } from './conversion-budget.js';
import { toFollowable } from './followable-rules.js';
import { DefinitionError, NotEnforced, type RuleSet } from './grammar-tree.js';
import { type Gbnf, toGbnf } from './json-text-gbnf.js';
import { parseLark } from './lark-grammar.js';
import { parseExpression } from './regular-expression.js';

export type Syntax = 'lark' | 'regex';

/** In UTF-16 units. Longer ones are not read. */
const MAX_DEFINITION_LENGTH = 32 * 1024;
/** Steps of the budget, whatever the definition is. */
const STEPS_OF_DEFINITION = 400;

/**
 * Returns the rules of a definition, with names that begin with `prefix`, or null if it cannot be enforced. Throws
 * `DefinitionError` if the definition is invalid or matches no text.
 */
export function readDefinition(
  syntax: Syntax,
  definition: string,
  prefix: string,
  budget: ConversionBudget,
): Gbnf | null {
  if (definition.length > MAX_DEFINITION_LENGTH) return null;
  try {
    budget.spend(STEPS_OF_DEFINITION);
    const rules = toFollowable(parse(syntax, definition, budget), budget);
    if (rules === null) throw new DefinitionError(definition, 0, 'no text follows it');
    return toGbnf(rules, prefix, budget);
  } catch (thrown) {
    if (thrown instanceof NotEnforced) return null;
    throw thrown;
  }
}

function parse(syntax: Syntax, definition: string, budget: ConversionBudget): RuleSet {
  if (syntax === 'lark') return parseLark(definition, budget);
  const tree = parseExpression({ definition, start: 0, end: definition.length, flags: '', isWhole: true, budget });
  return { start: 'text', rules: new Map([['text', tree]]) };
}
