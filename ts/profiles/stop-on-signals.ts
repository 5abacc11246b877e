/** SIGINT and SIGTERM end the process in good order; a second one ends it at once. */

/** `npm start` passes a Ctrl-C on that the terminal has sent to us already: what comes so soon is no second one. */
const ECHO_MS = 500;

/** Calls `stop` on the first signal, then exits with 0; `onStop` is told that it began. */
export function stopOnSignals(stop: () => Promise<void>, onStop: () => void, echoMs = ECHO_MS): void {
  let stoppingSince: number | null = null;
  const onSignal = (): void => {
    if (stoppingSince !== null) {
      if (Date.now() - stoppingSince >= echoMs) process.exit(130);
      return;
    }
    stoppingSince = Date.now();
    onStop();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('chasqui: stopping failed:', error);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}
