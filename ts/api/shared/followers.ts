/** Readers of a log that wait for its next entry. */
export class Followers {
  #waiting: (() => void)[] = [];

  /** Resolves at the next `wake`, or when the signal is aborted. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        resolve();
      };
      signal.addEventListener('abort', done);
      this.#waiting.push(done);
    });
  }

  wake(): void {
    for (const done of this.#waiting.splice(0)) done();
  }
}
