/** How far it has come, on one line of a terminal; nothing where nobody watches. */
export function showProgress(
  terminal: NodeJS.WriteStream,
  what: string,
): { update(fraction: number): void; clear(): void } {
  let shown = '';
  return {
    update(fraction) {
      const line = `${what}: ${Math.floor(fraction * 100)} %`;
      if (!terminal.isTTY || line === shown) return;
      shown = line;
      terminal.write(`\r${line}`);
    },
    clear() {
      if (shown) terminal.write(`\r${' '.repeat(shown.length)}\r`);
      shown = '';
    },
  };
}
