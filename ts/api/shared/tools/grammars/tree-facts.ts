/** Facts about the trees of a grammar: whether they match any text, and which kinds. */
import type { ConversionBudget } from './conversion-budget.js';
import { NotEnforced, type RuleSet, type Tree } from './grammar-tree.js';

/** Maximum number of passes over all rules. Rules come after those that they use. */
const MAX_ROUNDS = 50;
/** Steps of the budget for each visited part of a tree. */
const STEPS_OF_LOOK = 4;

/** Facts about a tree; each is false until proven. */
export interface Facts {
  /** It matches at least one text. */
  ends: boolean;
  mayBeEmpty: boolean;
  /** It matches at least one non-empty text. */
  mayBeText: boolean;
}

const NOTHING: Facts = { ends: false, mayBeEmpty: false, mayBeText: false };

export class TreeFacts {
  readonly #byRule = new Map<string, Facts>();
  /** Facts of trees, cached once the facts of all rules are known. */
  readonly #byTree = new Map<Tree, Facts>();

  constructor(
    grammar: RuleSet,
    private readonly budget: ConversionBudget,
  ) {
    this.#lookAtRules(grammar);
  }

  /** An unknown rule matches nothing. */
  ofRule(name: string): Facts {
    return this.#byRule.get(name) ?? NOTHING;
  }

  of(tree: Tree): Facts {
    const known = this.#byTree.get(tree);
    if (known !== undefined) return known;
    const facts = this.#lookAt(tree, (part) => this.of(part));
    this.#byTree.set(tree, facts);
    return facts;
  }

  #lookAtRules({ start, rules }: RuleSet): void {
    const order = usedFirst(start, rules);
    const lookAt = (tree: Tree): Facts => this.#lookAt(tree, lookAt);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let isNew = false;
      for (const name of order) {
        const before = this.ofRule(name);
        const now = lookAt(rules.get(name) as Tree);
        this.#byRule.set(name, now);
        isNew ||=
          before.ends !== now.ends || before.mayBeEmpty !== now.mayBeEmpty || before.mayBeText !== now.mayBeText;
      }
      if (!isNew) return;
    }
    throw new NotEnforced();
  }

  #lookAt(tree: Tree, lookAtPart: (part: Tree) => Facts): Facts {
    this.budget.spend(STEPS_OF_LOOK);
    switch (tree.kind) {
      case 'set':
        return { ends: tree.set.length > 0, mayBeEmpty: false, mayBeText: tree.set.length > 0 };
      case 'rule':
        return this.ofRule(tree.name);
      case 'choice': {
        const ways = tree.ways.map(lookAtPart).filter(({ ends }) => ends);
        return {
          ends: ways.length > 0,
          mayBeEmpty: ways.some(({ mayBeEmpty }) => mayBeEmpty),
          mayBeText: ways.some(({ mayBeText }) => mayBeText),
        };
      }
      case 'sequence': {
        const parts = tree.parts.map(lookAtPart);
        const ends = parts.every((part) => part.ends);
        return {
          ends,
          mayBeEmpty: parts.every(({ mayBeEmpty }) => mayBeEmpty),
          mayBeText: ends && parts.some(({ mayBeText }) => mayBeText),
        };
      }
      case 'repeat': {
        const part = lookAtPart(tree.part);
        return {
          ends: tree.least === 0 || part.ends,
          mayBeEmpty: tree.least === 0 || part.mayBeEmpty,
          mayBeText: tree.most > 0 && part.mayBeText,
        };
      }
    }
  }
}

/** The reachable rules in topological order; cycles are broken arbitrarily. */
function usedFirst(start: string, rules: ReadonlyMap<string, Tree>): string[] {
  const order: string[] = [];
  const seen = new Set([start]);
  const open = [{ name: start, uses: usesOf(rules.get(start) as Tree).values() }];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { value: used, done } = last.uses.next();
    if (done) {
      order.push(last.name);
      open.pop();
    } else if (!seen.has(used)) {
      seen.add(used);
      open.push({ name: used, uses: usesOf(rules.get(used) as Tree).values() });
    }
  }
  return order;
}

function usesOf(tree: Tree, uses = new Set<string>()): Set<string> {
  if (tree.kind === 'rule') uses.add(tree.name);
  else for (const child of childrenOf(tree)) usesOf(child, uses);
  return uses;
}

function childrenOf(tree: Tree): readonly Tree[] {
  if (tree.kind === 'sequence') return tree.parts;
  if (tree.kind === 'choice') return tree.ways;
  return tree.kind === 'repeat' ? [tree.part] : [];
}
