/**
 * Converts rules to equivalent rules that llama.cpp can process: none is left-recursive, and all terminate. Repeated parts are
 * never empty, which reduces ambiguity. Throws `NotEnforced` if that is not possible.
 */
import type { ConversionBudget } from './conversion-budget.js';
import { choice, EMPTY, NotEnforced, type RuleSet, repeat, sequence, type Tree } from './grammar-tree.js';
import { TreeFacts } from './tree-facts.js';

/** Budget per tree node created. Parts that may be empty in many places multiply. */
const STEPS_OF_PART = 8;

/** Returns null where no text matches at all. */
export function toFollowable({ start, rules }: RuleSet, budget: ConversionBudget): RuleSet | null {
  const direct = new Map([...rules].map(([name, tree]) => [name, withoutLeftRecursion(name, tree)]));
  const facts = new TreeFacts({ start, rules: direct }, budget);
  if (!facts.ofRule(start).ends) return null;
  const followable = new Rewriting(direct, facts, budget).rewrite(start);
  refuseLeftRecursion(followable, facts);
  return { start, rules: followable };
}

/** `a: a x | y` becomes `a: y x*`. */
function withoutLeftRecursion(name: string, tree: Tree): Tree {
  const ways = tree.kind === 'choice' ? tree.ways : [tree];
  const tails = ways.filter((way) => beginsWith(way, name)).map(tailOf);
  if (tails.length === 0) return tree;
  const heads = ways.filter((way) => !beginsWith(way, name));
  return sequence([choice(heads), repeat(choice(tails), 0, Infinity)]);
}

function beginsWith(way: Tree, name: string): boolean {
  const first = way.kind === 'sequence' ? way.parts[0] : way;
  return first?.kind === 'rule' && first.name === name;
}

function tailOf(way: Tree): Tree {
  return way.kind === 'sequence' ? sequence(way.parts.slice(1)) : EMPTY;
}

/** The name of the non-empty variant of a rule. */
function textOf(name: string): string {
  return `${name}+`;
}

class Rewriting {
  readonly #rewritten = new Map<string, Tree>();
  readonly #todo: (() => void)[] = [];

  constructor(
    private readonly rules: ReadonlyMap<string, Tree>,
    private readonly facts: TreeFacts,
    private readonly budget: ConversionBudget,
  ) {}

  rewrite(start: string): Map<string, Tree> {
    this.#refer(start, () => this.#whole(this.#treeOf(start)));
    for (let next = this.#todo.pop(); next; next = this.#todo.pop()) next();
    return this.#rewritten;
  }

  #treeOf(name: string): Tree {
    return this.rules.get(name) as Tree;
  }

  #refer(name: string, make: () => Tree): Tree {
    if (!this.#rewritten.has(name)) {
      this.#rewritten.set(name, EMPTY);
      this.#todo.push(() => this.#rewritten.set(name, make()));
    }
    return { kind: 'rule', name };
  }

  /** Returns a tree for all texts of `tree`, which must match at least one. */
  #whole(tree: Tree): Tree {
    this.budget.spend(STEPS_OF_PART);
    switch (tree.kind) {
      case 'set':
        return tree;
      case 'rule':
        return this.#refer(tree.name, () => this.#whole(this.#treeOf(tree.name)));
      case 'sequence':
        return sequence(tree.parts.map((part) => this.#whole(part)));
      case 'choice':
        return choice(tree.ways.filter((way) => this.facts.of(way).ends).map((way) => this.#whole(way)));
      case 'repeat': {
        if (tree.most === 0 || !this.facts.of(tree.part).mayBeText) return EMPTY;
        if (!this.facts.of(tree.part).mayBeEmpty) return repeated(this.#whole(tree.part), tree.least, tree.most);
        return repeated(this.#text(tree.part), 0, tree.most);
      }
    }
  }

  /** Returns a tree for the non-empty texts; there must be at least one. */
  #text(tree: Tree): Tree {
    if (!this.facts.of(tree).mayBeEmpty) return this.#whole(tree);
    this.budget.spend(STEPS_OF_PART);
    switch (tree.kind) {
      case 'set':
        return tree;
      case 'rule':
        return this.#refer(textOf(tree.name), () => this.#text(this.#treeOf(tree.name)));
      case 'choice':
        return choice(tree.ways.filter((way) => this.facts.of(way).mayBeText).map((way) => this.#text(way)));
      case 'sequence':
        // The first non-empty part, and the parts after it.
        return choice(
          tree.parts.flatMap((part, index) =>
            this.facts.of(part).mayBeText
              ? [sequence([this.#text(part), ...tree.parts.slice(index + 1).map((each) => this.#whole(each))])]
              : [],
          ),
        );
      case 'repeat':
        return repeated(this.#text(tree.part), 1, tree.most);
    }
  }
}

/** A repetition of an unlimited repetition is a repetition of the inner part. */
function repeated(part: Tree, least: number, most: number): Tree {
  if (least === 1 && most === 1) return part;
  const isEndless = part.kind === 'repeat' && part.least <= 1 && part.most === Infinity;
  if (isEndless && least <= 1 && most >= 1) return repeat(part.part, Math.min(least, part.least), Infinity);
  return repeat(part, least, most);
}

/** Throws if a rule can reach itself before it matches a character. */
function refuseLeftRecursion(rules: ReadonlyMap<string, Tree>, facts: TreeFacts): void {
  const done = new Set<string>();
  for (const start of rules.keys()) {
    if (done.has(start)) continue;
    const path = new Set([start]);
    const open = [{ name: start, uses: beginningsOf(rules.get(start) as Tree, facts).values() }];
    for (let last = open.at(-1); last; last = open.at(-1)) {
      const { value: used, done: isEnd } = last.uses.next();
      if (isEnd) {
        done.add(last.name);
        path.delete(last.name);
        open.pop();
      } else if (path.has(used)) {
        throw new NotEnforced();
      } else if (!done.has(used)) {
        path.add(used);
        open.push({ name: used, uses: beginningsOf(rules.get(used) as Tree, facts).values() });
      }
    }
  }
}

/** The rules at the possible beginnings of a tree. */
function beginningsOf(tree: Tree, facts: TreeFacts, names = new Set<string>()): Set<string> {
  if (tree.kind === 'rule') names.add(tree.name);
  if (tree.kind === 'repeat') beginningsOf(tree.part, facts, names);
  if (tree.kind === 'choice') for (const way of tree.ways) beginningsOf(way, facts, names);
  if (tree.kind === 'sequence') {
    for (const part of tree.parts) {
      beginningsOf(part, facts, names);
      if (!facts.of(part).mayBeEmpty) break;
    }
  }
  return names;
}
