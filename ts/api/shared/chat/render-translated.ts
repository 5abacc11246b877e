/** A chat body that was made of another request → its prompt, and what of the request has no effect in it. */
import type { Engine, RenderedPrompt } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { LoadImagesOptions } from '../../../images/load-images.js';
import type { InputGrammars } from '../tools/input-grammars.js';
import type { ChatTranslation } from './field-origins.js';
import { renderBody } from './start-completion.js';
import { unenforcedParts } from './unenforced-parts.js';

export interface Translated extends ChatTranslation {
  /** Of the custom tools. */
  inputGrammars: InputGrammars;
  /** The paths, in the request, of what has no effect. */
  passedOver: readonly string[];
}

export interface TranslatedOptions extends LoadImagesOptions {
  /** Whether grammars of custom tools that cannot be enforced are an error. */
  strict: boolean;
  /** Of how many parts of schemas that are not enforced to tell. */
  maxParts: number;
}

/** `ignored` has paths of the request, each once. Errors name the field of the chat body: `origins` translates them. */
export async function renderTranslated(
  engine: Engine,
  { body, origins, inputGrammars, passedOver }: Translated,
  { strict, maxParts, ...loading }: TranslatedOptions,
): Promise<{ rendered: RenderedPrompt; ignored: string[] }> {
  const plain = await renderBody(engine, body, loading);
  const { grammar, passedOver: withoutPlace } = inputGrammars.enforce(plain.grammar);
  if (strict) refusePassedOver(withoutPlace);
  const rendered = { ...plain, grammar };
  const named = [...withoutPlace, ...unenforcedParts(body, rendered, maxParts)].map((part) => origins.nameOf(part));
  return { rendered, ignored: [...new Set([...passedOver, ...named])] };
}

/** For servers that refuse what they would pass over: the first of these paths is an error. */
export function refusePassedOver([path]: readonly string[]): void {
  if (path === undefined) return;
  throw new ChasquiError('unsupported_parameter', `\`${path}\` is nothing that this server can do or enforce.`, path);
}
