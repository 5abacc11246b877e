/**
 * Rules that llama.cpp can follow, of the same language: none of them begins with itself, and from everywhere there is a
 * way to an end. What is repeated is never empty, so that there are fewer ways to read a text. Where a grammar cannot be
 * brought into that form, this throws `NotEnforced`.
 */
import { choice, EMPTY, NotEnforced, type RuleSet, repeat, sequence, type Tree } from './grammar-tree.js';

/** Parts of trees that are made. Without it, what may be empty at many places would become a tree for each. */
const MAX_PARTS = 100_000;
/** How often all rules are looked at before their facts must be known; rules are looked at after those that they use. */
const MAX_ROUNDS = 50;

/** What is known of a tree: each is false until shown. */
interface Facts {
  /** There is a text that it matches. */
  ends: boolean;
  mayBeEmpty: boolean;
  /** There is a text that is not empty. */
  mayBeText: boolean;
}

const NOTHING: Facts = { ends: false, mayBeEmpty: false, mayBeText: false };

/** Returns null where no text matches at all. */
export function toFollowable({ start, rules }: RuleSet): RuleSet | null {
  const direct = new Map([...rules].map(([name, tree]) => [name, withoutLeftRecursion(name, tree)]));
  const facts = factsOf(start, direct);
  if (!facts.get(start)?.ends) return null;
  const followable = new Rewriting(direct, facts).rewrite(start);
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

type FactsByRule = ReadonlyMap<string, Facts>;

function factsOf(start: string, rules: ReadonlyMap<string, Tree>): FactsByRule {
  const order = usedFirst(start, rules);
  const facts = new Map<string, Facts>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let isNew = false;
    for (const name of order) {
      const before = facts.get(name) ?? NOTHING;
      const now = factsOfTree(rules.get(name) as Tree, facts);
      facts.set(name, now);
      isNew ||= before.ends !== now.ends || before.mayBeEmpty !== now.mayBeEmpty || before.mayBeText !== now.mayBeText;
    }
    if (!isNew) return facts;
  }
  throw new NotEnforced();
}

/** The rules that a text may need, each after those that it uses, as far as they do not use each other. */
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

function factsOfTree(tree: Tree, rules: FactsByRule): Facts {
  switch (tree.kind) {
    case 'set':
      return { ends: tree.set.length > 0, mayBeEmpty: false, mayBeText: tree.set.length > 0 };
    case 'rule':
      return rules.get(tree.name) ?? NOTHING;
    case 'choice': {
      const ways = tree.ways.map((way) => factsOfTree(way, rules)).filter(({ ends }) => ends);
      return {
        ends: ways.length > 0,
        mayBeEmpty: ways.some(({ mayBeEmpty }) => mayBeEmpty),
        mayBeText: ways.some(({ mayBeText }) => mayBeText),
      };
    }
    case 'sequence': {
      const parts = tree.parts.map((part) => factsOfTree(part, rules));
      const ends = parts.every((part) => part.ends);
      return {
        ends,
        mayBeEmpty: parts.every(({ mayBeEmpty }) => mayBeEmpty),
        mayBeText: ends && parts.some(({ mayBeText }) => mayBeText),
      };
    }
    case 'repeat': {
      const part = factsOfTree(tree.part, rules);
      return {
        ends: tree.least === 0 || part.ends,
        mayBeEmpty: tree.least === 0 || part.mayBeEmpty,
        mayBeText: tree.most > 0 && part.mayBeText,
      };
    }
  }
}

/** The name of what is like a rule, but never empty. */
function textOf(name: string): string {
  return `${name}+`;
}

class Rewriting {
  readonly #rules: ReadonlyMap<string, Tree>;
  readonly #facts: FactsByRule;
  readonly #rewritten = new Map<string, Tree>();
  readonly #todo: (() => void)[] = [];
  #parts = 0;

  constructor(rules: ReadonlyMap<string, Tree>, facts: FactsByRule) {
    this.#rules = rules;
    this.#facts = facts;
  }

  rewrite(start: string): Map<string, Tree> {
    this.#refer(start, () => this.#whole(this.#treeOf(start)));
    for (let next = this.#todo.pop(); next; next = this.#todo.pop()) next();
    return this.#rewritten;
  }

  #treeOf(name: string): Tree {
    return this.#rules.get(name) as Tree;
  }

  #refer(name: string, make: () => Tree): Tree {
    if (!this.#rewritten.has(name)) {
      this.#rewritten.set(name, EMPTY);
      this.#todo.push(() => this.#rewritten.set(name, make()));
    }
    return { kind: 'rule', name };
  }

  #count(): void {
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) throw new NotEnforced();
  }

  /** All that a tree matches; there is something. */
  #whole(tree: Tree): Tree {
    this.#count();
    switch (tree.kind) {
      case 'set':
        return tree;
      case 'rule':
        return this.#refer(tree.name, () => this.#whole(this.#treeOf(tree.name)));
      case 'sequence':
        return sequence(tree.parts.map((part) => this.#whole(part)));
      case 'choice':
        return choice(tree.ways.filter((way) => this.#factsOf(way).ends).map((way) => this.#whole(way)));
      case 'repeat': {
        if (tree.most === 0 || !this.#factsOf(tree.part).mayBeText) return EMPTY;
        if (!this.#factsOf(tree.part).mayBeEmpty) return repeated(this.#whole(tree.part), tree.least, tree.most);
        return repeated(this.#text(tree.part), 0, tree.most);
      }
    }
  }

  /** What a tree matches, but not the empty text; there is something. */
  #text(tree: Tree): Tree {
    if (!this.#factsOf(tree).mayBeEmpty) return this.#whole(tree);
    this.#count();
    switch (tree.kind) {
      case 'set':
        return tree;
      case 'rule':
        return this.#refer(textOf(tree.name), () => this.#text(this.#treeOf(tree.name)));
      case 'choice':
        return choice(tree.ways.filter((way) => this.#factsOf(way).mayBeText).map((way) => this.#text(way)));
      case 'sequence':
        // The first part that is not empty, and what follows it.
        return choice(
          tree.parts.flatMap((part, index) =>
            this.#factsOf(part).mayBeText
              ? [sequence([this.#text(part), ...tree.parts.slice(index + 1).map((each) => this.#whole(each))])]
              : [],
          ),
        );
      case 'repeat':
        return repeated(this.#text(tree.part), 1, tree.most);
    }
  }

  #factsOf(tree: Tree): Facts {
    return factsOfTree(tree, this.#facts);
  }
}

/** A repetition of what repeats itself without a limit is one of the part within. */
function repeated(part: Tree, least: number, most: number): Tree {
  if (least === 1 && most === 1) return part;
  const isEndless = part.kind === 'repeat' && part.least <= 1 && part.most === Infinity;
  if (isEndless && least <= 1 && most >= 1) return repeat(part.part, Math.min(least, part.least), Infinity);
  return repeat(part, least, most);
}

/** Throws where a rule may come to itself before anything was matched. */
function refuseLeftRecursion(rules: ReadonlyMap<string, Tree>, facts: FactsByRule): void {
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

/** The rules that a tree may begin with. */
function beginningsOf(tree: Tree, facts: FactsByRule, names = new Set<string>()): Set<string> {
  if (tree.kind === 'rule') names.add(tree.name);
  if (tree.kind === 'repeat') beginningsOf(tree.part, facts, names);
  if (tree.kind === 'choice') for (const way of tree.ways) beginningsOf(way, facts, names);
  if (tree.kind === 'sequence') {
    for (const part of tree.parts) {
      beginningsOf(part, facts, names);
      if (!factsOfTree(part, facts).mayBeEmpty) break;
    }
  }
  return names;
}
