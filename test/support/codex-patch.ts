/** What Codex says of the input of its tool `apply_patch`, word for word, and a check of such inputs that is not it. */

export const PATCH_GRAMMAR = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`;

/** The same for patches that end soon, so that a model that writes anything at all comes to an end. */
export const SHORT_PATCH_GRAMMAR = PATCH_GRAMMAR.replace('hunk+', 'hunk~1..2')
  .replace('add_line+', 'add_line~1..2')
  .replace('(change_context | change_line)+', '(change_context | change_line)~1..3')
  .replaceAll('/(.+)/', '/(.{1,12})/')
  .replaceAll('/(.*)/', '/(.{0,12})/');

/** What is wrong with a patch, line by line; null if nothing is. */
export function faultOfPatch(patch: string): string | null {
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (lines[0] !== '*** Begin Patch') return 'no beginning';
  if (lines.length < 2 || lines.at(-1) !== '*** End Patch') return 'no end';
  let within: 'nothing' | 'added' | 'deleted' | 'updated' | 'moved' | 'changed' | 'ended' = 'nothing';
  let isEmptyAddition = false;
  for (const line of lines.slice(1, -1)) {
    const [, head] = /^\*\*\* (Add|Delete|Update) File: .+$/s.exec(line) ?? [];
    if (head !== undefined) {
      if (isEmptyAddition) return `nothing is added before ${line}`;
      within = head === 'Add' ? 'added' : head === 'Delete' ? 'deleted' : 'updated';
      isEmptyAddition = head === 'Add';
    } else if (within === 'added' && line.startsWith('+')) isEmptyAddition = false;
    else if (within === 'updated' && /^\*\*\* Move to: .+$/s.test(line)) within = 'moved';
    else if (['updated', 'moved', 'changed'].includes(within) && /^(?:[+ -].*|@@(?: .+)?)$/s.test(line))
      within = 'changed';
    else if (within === 'changed' && line === '*** End of File') within = 'ended';
    else return `${JSON.stringify(line)} after what was ${within}`;
  }
  if (within === 'nothing') return 'no hunk';
  return isEmptyAddition ? 'nothing is added' : null;
}

/** The same of one that was cut off, but for its last line. */
export function faultOfCutPatch(patch: string): string | null {
  const lines = patch.split('\n').slice(0, -1);
  if (lines.length === 0) return '*** Begin Patch'.startsWith(patch) ? null : 'no beginning';
  const fault = faultOfPatch([...lines, '*** End Patch', ''].join('\n'));
  return fault === 'no hunk' || fault === 'nothing is added' ? null : fault;
}
