/** Extends a grammar for the content of a completion to the reasoning before it. */
import type { ReasoningTags } from '../../../../engine/engine.js';

/**
 * Returns `gbnf` itself if the prompt ends without reasoning. If the prompt does not begin reasoning, the model may.
 */
export function afterReasoning(gbnf: string, { start, ends, promptEnd }: ReasoningTags): string {
  const opened = promptEnd.lastIndexOf(start);
  if (opened >= 0 && ends.some((end) => promptEnd.includes(end, opened + start.length))) return gbnf;
  const begin = opened >= 0 ? 'reasoning-0' : `content-root | ${literal(start)} reasoning-0`;
  // Models write empty lines between the closing tag and the content.
  const rules = [`root ::= ${begin}`, ...textUntil(ends), 'reasoning-end ::= ("\\n" "\\n"?)? content-root'];
  return `${rules.join('\n')}\n${gbnf.replace(PARTS, (part) => (/^[\w-]/.test(part) ? `content-${part}` : part))}`;
}

/**
 * Rules of an automaton that ends with the first of the tags. A state is the longest suffix of the text that is a
 * prefix of a tag. The rules are right-recursive, so the engine needs no memory for the length of the text.
 */
function textUntil(ends: readonly string[]): string[] {
  const tags = ends.map((end) => end.trim() || end);
  const characters = [...new Set(tags.flatMap((tag) => [...tag]))];
  const states = [''];
  const numberOf = (text: string): number => {
    const known = states.indexOf(text);
    return known >= 0 ? known : states.push(text) - 1;
  };
  const next = (text: string): string => {
    if (tags.some((tag) => text.endsWith(tag))) return 'reasoning-end';
    let rest = text;
    while (rest !== '' && !tags.some((tag) => tag.startsWith(rest))) rest = rest.slice(1);
    return `reasoning-${numberOf(rest)}`;
  };
  const rules: string[] = [];
  // The loop appends states to this list.
  for (let number = 0; number < states.length; number += 1) {
    const steps = characters.map((each) => `${literal(each)} ${next(states[number] + each)}`);
    const others = `[^${characters.map(escaped).join('')}] reasoning-0`;
    rules.push(`reasoning-${number} ::= ${[...steps, others].join(' | ')}`);
  }
  return rules;
}

function literal(text: string): string {
  return `"${[...text].map(escaped).join('')}"`;
}

function escaped(character: string): string {
  if (/[\w<>/| ]/.test(character)) return character;
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
}

/** Literals, sets, repetitions, tokens and comments have no names. */
const PARTS = /"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|<[^>\n]*>|#[^\n]*|[\w-]+/gs;
