/** TeX as MathML, by temml; a chunk of its own, fetched with the first formula. */
import temml from 'temml';

const MAX_LENGTH = 4000;
/** Bounds what macros expand to; deep trees overflow the stack of the browser's layout. */
const MAX_DEPTH = 60;
const MAX_NODES = 20_000;

/** The part of temml's tree that is used here. */
export interface FormulaTree {
  type?: string;
  children?: FormulaTree[];
  /** An element; only in a browser. */
  toNode(): unknown;
  toMarkup(): string;
}

/** temml's declarations resolve to different shapes for Node and for bundlers. */
const { __renderToMathMLTree: toTree } = temml as unknown as {
  __renderToMathMLTree(tex: string, options: object): FormulaTree;
};

/** Returns null if the TeX is invalid or too large. Unknown commands are shown by name, in the colour of errors. */
export function parseFormula(tex: string, display: boolean): FormulaTree | null {
  if (tex.length > MAX_LENGTH) return null;
  try {
    const tree = toTree(tex, {
      displayMode: display,
      errorColor: 'light-dark(#b3261e, #ff8a80)',
      maxExpand: 200,
      maxSize: [40, 400],
    });
    // For a syntax error temml returns a `span` with the message.
    return tree.type === 'math' && isBounded(tree) ? tree : null;
  } catch {
    // Deep nesting overflows the parser's stack; some incomplete input, such as a lone `^`, is a TypeError in temml.
    return null;
  }
}

function isBounded(tree: FormulaTree): boolean {
  let level = [tree];
  let nodes = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    nodes += level.length;
    if (depth > MAX_DEPTH || nodes > MAX_NODES) return false;
    level = level.flatMap(({ children }) => children ?? []);
  }
  return true;
}
