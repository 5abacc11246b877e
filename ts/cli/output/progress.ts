/** Shows progress on one rewritten line of a terminal; prints nothing without a terminal. */
export function showStatus(terminal: NodeJS.WriteStream): { show(text: string): void; clear(): void } {
  let shown = '';
  return {
    show(text) {
      if (!terminal.isTTY || text === shown) return;
      terminal.write(`\r${text.padEnd(shown.length)}`);
      shown = text;
    },
    clear() {
      if (shown) terminal.write(`\r${' '.repeat(shown.length)}\r`);
      shown = '';
    },
  };
}

/** @param fraction from 0 to 1 */
export function showProgress(
  terminal: NodeJS.WriteStream,
  what: string,
): { update(fraction: number): void; clear(): void } {
  const { show, clear } = showStatus(terminal);
  return { update: (fraction) => show(`${what}: ${Math.floor(fraction * 100)} %`), clear };
}
