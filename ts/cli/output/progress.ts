const SHORT_MS = 1000;

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

export interface Progress {
  /** @param fraction from 0 to 1 */
  update(fraction: number): void;
  clear(): void;
}

export function showProgress(terminal: NodeJS.WriteStream, what: string): Progress {
  const { show, clear } = showStatus(terminal);
  return { update: (fraction) => show(`${what}: ${Math.floor(fraction * 100)} %`), clear };
}

/** Shows nothing for work of less than a second. */
export function showLater({ update, clear }: Progress, now: () => number = () => performance.now()): Progress {
  const began = now();
  return {
    update: (fraction) => {
      if (now() - began >= SHORT_MS) update(fraction);
    },
    clear,
  };
}
