/**
 * Converts a gap between two texts, with further context, to a prompt that the model continues with the text of the gap.
 * The format is that of llama-server, which code models were trained with:
 *
 *     repository name | separator, name of a file, its text | ... | separator, name | prefix, gap, suffix
 */
import type { AbortOptions, Engine } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { ExtraText, InfillRequest } from '../schema.js';

/** How models call the token that stands before a file, and the one before a repository's name. */
const SEPARATORS = ['<|file_sep|>', '<file_sep>', '<|file_separator|>'];
const REPOSITORIES = ['<|repo_name|>', '<|fim_repo|>', '<REPO>', '<reponame>', '<repo_name>'];

/** For models without such a token. */
const SNIPPET = '\n\n--- snippet ---\n\n';
const REPOSITORY_NAME = 'myproject\n';
const FILE_NAME = 'filename\n';

/** How much of the context is left for the completion where the request sets no limit. */
const COMPLETION_TOKENS = 256;

export async function infillPrompt(engine: Engine, request: InfillRequest, on: AbortOptions): Promise<number[]> {
  const { model } = engine;
  if (!model.infills) {
    throw new ChasquiError('model_not_capable', `The model \`${model.id}\` does not support infill.`, 'model');
  }
  const { input_prefix: prefix, input_suffix: suffix, input_extra: extra = [], prompt = '' } = request;
  const gap = Array.from(await engine.tokenizeInfill(prefix + prompt, suffix, on));
  if (extra.length === 0) return gap;
  const limit = request.n_predict ?? request.max_tokens ?? -1;
  const room = model.contextLength - gap.length - (limit < 0 ? COMPLETION_TOKENS : limit) - 1;
  const tokens = await extraTokens(engine, extra, on);
  // The last text is nearest to the gap.
  return [...tokens.slice(Math.max(tokens.length - Math.max(room, 0), 0)), ...gap];
}

async function extraTokens(engine: Engine, extra: readonly ExtraText[], on: AbortOptions): Promise<number[]> {
  const plain = async (text: string) => Array.from(await tokenize(engine, text, false, on));
  const [repository, separator] = await Promise.all([
    findToken(engine, REPOSITORIES, on),
    findToken(engine, SEPARATORS, on),
  ]);
  const parts: number[][] = [];
  if (repository !== null) parts.push([repository], await plain(REPOSITORY_NAME));
  for (const { filename = 'tmp', text } of extra) {
    const head = separator === null ? await plain(SNIPPET) : [separator, ...(await plain(`${filename}\n`))];
    parts.push(head, await plain(text));
  }
  if (separator !== null) parts.push([separator], await plain(FILE_NAME));
  return parts.flat();
}

/** The token that has one of these names; `null` if the model has none of them. */
async function findToken(engine: Engine, names: readonly string[], on: AbortOptions): Promise<number | null> {
  const found = await Promise.all(names.map((name) => tokenize(engine, name, true, on)));
  return found.find(({ length }) => length === 1)?.[0] ?? null;
}

function tokenize(engine: Engine, text: string, parseSpecial: boolean, on: AbortOptions): Promise<Int32Array> {
  return engine.tokenize(text, { addSpecial: false, parseSpecial, ...on });
}
