/**
 * Matches and generates random texts of a GBNF grammar, for the subset of the notation that we use. It shares no code
 * with the grammar writer.
 */

type Part =
  | { ranges: [number, number][] }
  | { literal: string }
  | { rule: string }
  | { ways: Part[][] }
  | { part: Part; least: number; most: number };

const TOKEN = /\s*(?:"((?:[^"\\]|\\.)*)"|\[((?:[^\]\\]|\\.)*)\]|([a-z][\w-]*)|([()|?*+])|\{(\d+)(?:(,)(\d*))?\})/y;

const MAX_DEPTH = 40;

export class GbnfTexts {
  readonly #rules = new Map<string, Part[][]>();
  /** The nesting depth of the shortest text of each rule. */
  readonly #heights = new Map<string, number>();

  constructor(gbnf: string) {
    for (const line of gbnf.split('\n').filter((each) => each !== '')) {
      const [, name, text] = /^([\w-]+) ::= (.*)$/.exec(line) ?? [];
      if (name === undefined || text === undefined) throw new Error(`no rule: ${line}`);
      if (this.#rules.has(name)) throw new Error(`two rules ${name}`);
      this.#rules.set(name, new Reader(text).ways());
    }
    for (let changed = true; changed; ) {
      changed = false;
      for (const [name, ways] of this.#rules) {
        const height = this.#heightOf(ways);
        if (this.#heights.has(name) || height === Infinity) continue;
        this.#heights.set(name, height + 1);
        changed = true;
      }
    }
  }

  #heightOf(ways: Part[][]): number {
    return Math.min(...ways.map((way) => Math.max(0, ...way.map((part) => this.#heightOfPart(part)))));
  }

  #heightOfPart(part: Part): number {
    if ('rule' in part) return this.#heights.get(part.rule) ?? Infinity;
    if ('ways' in part) return this.#heightOf(part.ways);
    return 'part' in part && part.least > 0 ? this.#heightOfPart(part.part) : 0;
  }

  has(root: string, text: string): boolean {
    const known = new Map<string, Set<number>>();
    return this.#endsOfRule(root, [...text], 0, known).has([...text].length);
  }

  /** Repetitions come to three more than they must at most. Deep within each other, rules have their shortest texts. */
  one(root: string, random: () => number): string {
    return this.#oneOf(this.#rules.get(root) as Part[][], random, 0);
  }

  #oneOf(ways: Part[][], random: () => number, depth: number): string {
    const least = depth > MAX_DEPTH ? this.#heightOf(ways) : Infinity;
    const usable = depth > MAX_DEPTH ? ways.filter((way) => this.#heightOf([way]) === least) : ways;
    const way = usable[Math.floor(random() * usable.length)] as Part[];
    return way.map((part) => this.#onePart(part, random, depth + 1)).join('');
  }

  #onePart(part: Part, random: () => number, depth: number): string {
    if ('literal' in part) return part.literal;
    if ('rule' in part) return this.#oneOf(this.#rules.get(part.rule) as Part[][], random, depth);
    if ('ways' in part) return this.#oneOf(part.ways, random, depth);
    if ('ranges' in part) {
      const [first, last] = part.ranges[Math.floor(random() * part.ranges.length)] as [number, number];
      return String.fromCodePoint(first + Math.floor(random() * (last - first + 1)));
    }
    const most = depth > MAX_DEPTH ? part.least : Math.min(part.most, part.least + 3);
    const times = part.least + Math.floor(random() * (most - part.least + 1));
    return Array.from({ length: times }, () => this.#onePart(part.part, random, depth)).join('');
  }

  #endsOfRule(name: string, text: readonly string[], at: number, known: Map<string, Set<number>>): Set<number> {
    const key = `${name} ${at}`;
    const before = known.get(key);
    if (before) return before;
    known.set(key, new Set());
    const ends = this.#endsOfWays(this.#rules.get(name) as Part[][], text, at, known);
    known.set(key, ends);
    return ends;
  }

  #endsOfWays(ways: Part[][], text: readonly string[], at: number, known: Map<string, Set<number>>): Set<number> {
    const ends = new Set<number>();
    for (const way of ways) {
      let places = new Set([at]);
      for (const part of way) places = this.#after(places, part, text, known);
      for (const place of places) ends.add(place);
    }
    return ends;
  }

  #after(places: Set<number>, part: Part, text: readonly string[], known: Map<string, Set<number>>): Set<number> {
    const ends = new Set<number>();
    for (const at of places) for (const end of this.#ends(part, text, at, known)) ends.add(end);
    return ends;
  }

  #ends(part: Part, text: readonly string[], at: number, known: Map<string, Set<number>>): Iterable<number> {
    if ('literal' in part) {
      const characters = [...part.literal];
      return characters.every((each, index) => text[at + index] === each) ? [at + characters.length] : [];
    }
    if ('rule' in part) return this.#endsOfRule(part.rule, text, at, known);
    if ('ways' in part) return this.#endsOfWays(part.ways, text, at, known);
    if ('ranges' in part) {
      const code = text[at]?.codePointAt(0);
      return code !== undefined && part.ranges.some(([first, last]) => first <= code && code <= last) ? [at + 1] : [];
    }
    let places = new Set([at]);
    for (let n = 0; n < part.least; n++) places = this.#after(places, part.part, text, known);
    const ends = new Set(places);
    for (let n = part.least; n < part.most && places.size > 0; n++) {
      places = new Set([...this.#after(places, part.part, text, known)].filter((each) => !ends.has(each)));
      for (const place of places) ends.add(place);
    }
    return ends;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  ways(): Part[][] {
    const ways: Part[][] = [[]];
    while (this.#at < this.#text.length) {
      TOKEN.lastIndex = this.#at;
      const found = TOKEN.exec(this.#text);
      if (!found) throw new Error(`not understood: ${this.#text.slice(this.#at)}`);
      const [whole, literal, set, rule, sign, least, comma, most] = found;
      this.#at += whole.length;
      const way = ways.at(-1) as Part[];
      if (literal !== undefined)
        way.push({
          literal: codesOf(literal)
            .map((code) => String.fromCodePoint(code))
            .join(''),
        });
      else if (set !== undefined) way.push({ ranges: rangesOf(set) });
      else if (rule !== undefined) way.push({ rule });
      else if (sign === '(') way.push({ ways: this.ways() });
      else if (sign === ')') return ways;
      else if (sign === '|') ways.push([]);
      else {
        const counts = { '?': [0, 1], '*': [0, Infinity], '+': [1, Infinity] }[sign ?? ''];
        const [from, to] = counts ?? [Number(least), most ? Number(most) : comma ? Infinity : Number(least)];
        const part = way.pop();
        if (!part) throw new Error('nothing is repeated');
        way.push({ part, least: from as number, most: to as number });
      }
    }
    return ways;
  }
}

const CHARACTER = /\\x(..)|\\u(.{4})|\\U(.{8})|\\([trn\\"[\]-])|([^\\])/gsu;

function codesOf(text: string): number[] {
  return [...text.matchAll(CHARACTER)].map(([, x, u, U, escaped, plain]) => {
    const hex = x ?? u ?? U;
    if (hex !== undefined) return Number.parseInt(hex, 16);
    const control = { t: '\t', r: '\r', n: '\n' }[escaped ?? ''];
    return (control ?? escaped ?? plain ?? '').codePointAt(0) as number;
  });
}

function rangesOf(set: string): [number, number][] {
  const ranges: [number, number][] = [];
  const one = String.raw`(\\x..|\\u.{4}|\\U.{8}|\\[^xuU]|[^\\-])`;
  const members = set.startsWith('^') ? set.slice(1) : set;
  for (const [, first = '', last = first] of members.matchAll(new RegExp(`${one}(?:-${one})?`, 'gu'))) {
    ranges.push([codesOf(first)[0] as number, codesOf(last)[0] as number]);
  }
  return set.startsWith('^') ? complementOf(ranges) : ranges;
}

/** All other code points but for surrogates, which UTF-8 does not have. */
function complementOf(ranges: [number, number][]): [number, number][] {
  const others: [number, number][] = [];
  let next = 0;
  for (const [first, last] of [...ranges, [0xd800, 0xdfff], [0x110000, 0x110000]].sort(([a = 0], [b = 0]) => a - b)) {
    if (first !== undefined && first > next) others.push([next, first - 1]);
    next = Math.max(next, (last ?? 0) + 1);
  }
  return others;
}
