/** What a server may call in the process that prepares requests: a `PreparationCore`. */
import type { NativeGrammar, NativePreparer, NativeReplyFormat } from '../../native/addon.js';
import type { CoreMethods } from './core-methods.js';

type Watched = <T>(work: () => T | Promise<T>) => Promise<T>;

/** `watched` runs whatever prepares something. */
export function preparationMethods(
  preparer: NativePreparer,
  openParser: (format: NativeReplyFormat) => unknown,
  watched: Watched,
): CoreMethods {
  const prepare: CoreMethods = {
    /** What parses the reply is made in the engine's process; that it can be made is seen here. */
    async render(requestJson: string, owner: number) {
      const rendered = await preparer.render(requestJson, owner);
      if (rendered.format !== null) openParser(rendered.format);
      return rendered;
    },
    tokenize: preparer.tokenize.bind(preparer),
    tokenizeTextPrompt: preparer.tokenizeTextPrompt.bind(preparer),
    tokenizeInfill: preparer.tokenizeInfill.bind(preparer),
    tokenizeInputs: preparer.tokenizeInputs.bind(preparer),
    tokenizePairs: preparer.tokenizePairs.bind(preparer),
    pieces: preparer.pieces.bind(preparer),
    /** Compiled grammars do not cross processes, so the engine compiles it again; that this goes well is seen here. */
    async compileGrammar(grammar: NativeGrammar, _copies: number, owner: number) {
      await preparer.compileGrammar(grammar, 1, owner);
      return [];
    },
  };
  const methods = Object.entries(prepare).map(([name, method]) => [
    name,
    (...args: unknown[]) => watched(() => method(...args)),
  ]);
  return { ...Object.fromEntries(methods), cancelPreparation: preparer.cancelPreparation.bind(preparer) };
}
