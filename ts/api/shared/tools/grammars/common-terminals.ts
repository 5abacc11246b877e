/** The terminals of Lark's library `common` for `%import common.X`, under their names there. */
import type { Tree } from './grammar-tree.js';

/** Two of them omit the lazy quantifiers of the original, but match the same texts. */
export const COMMON_TERMINALS = String.raw`
DIGIT: "0".."9"
HEXDIGIT: "a".."f" | "A".."F" | DIGIT
INT: DIGIT+
SIGNED_INT: ["+" | "-"] INT
DECIMAL: INT "." INT? | "." INT
_EXP: ("e" | "E") SIGNED_INT
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: ["+" | "-"] FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: ["+" | "-"] NUMBER
ESCAPED_STRING: "\"" (/[^"\\\n]/ | /\\./)* "\""
LCASE_LETTER: "a".."z"
UCASE_LETTER: "A".."Z"
LETTER: UCASE_LETTER | LCASE_LETTER
WORD: LETTER+
CNAME: ("_" | LETTER) ("_" | LETTER | DIGIT)*
WS_INLINE: (" " | /\t/)+
WS: /[ \t\f\r\n]/+
CR: /\r/
LF: /\n/
NEWLINE: (CR? LF)+
SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: "/*" (/[^*]/ | /\*+[^*\/]/)* /\*+\//
SQL_COMMENT: /--[^\n]*/
`;

/** The name of a common terminal within the importing grammar. */
export function commonName(name: string): string {
  return `common.${name}`;
}

/** The rules under these names. */
export function asCommon(rules: ReadonlyMap<string, Tree>): Map<string, Tree> {
  return new Map([...rules].map(([name, tree]) => [commonName(name), renamed(tree)]));
}

function renamed(tree: Tree): Tree {
  switch (tree.kind) {
    case 'set':
      return tree;
    case 'rule':
      return { kind: 'rule', name: commonName(tree.name) };
    case 'repeat':
      return { ...tree, part: renamed(tree.part) };
    case 'sequence':
      return { ...tree, parts: tree.parts.map(renamed) };
    case 'choice':
      return { ...tree, ways: tree.ways.map(renamed) };
  }
}
