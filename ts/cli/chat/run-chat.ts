/** Runs `chasqui chat`: a conversation in the terminal, or one answer for a prompt. */
import fs from 'node:fs';
import path from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { loadModel, type Model } from '../../engine/model.js';
import type { Reply } from '../../engine/reply-stream.js';
import { dataDir } from '../../hub/data-folder.js';
import { isHubName } from '../../hub/model-name.js';
import { desktop } from '../../profiles/desktop.js';
import { printJson } from '../cloud/outcome.js';
import { CommandFailed, EXIT, exitCodeOf } from '../errors/exit-codes.js';
import { explainFailure } from '../errors/explain-failure.js';
import { explainStart, warnOfMemory } from '../errors/explain-start.js';
import { type FoundModels, findModel, findNamed } from '../hub/find-model.js';
import { givenOptions } from '../options/table-options.js';
import { showProgress } from '../output/progress.js';
import { type Chat, runCommand } from './chat-commands.js';
import { ChatInput } from './chat-input.js';
import { Conversation } from './conversation.js';
import { CHAT_LOAD_OPTIONS, CHAT_OPTIONS, COMMON_OPTIONS } from './option-table.js';
import { CompletionPrinter, describeSpeed, type PrintStyle } from './print-completion.js';
import { withImages } from './prompt-images.js';

type Parsed = Readonly<Record<string, unknown>>;

export async function runChat(name: string, words: string, parsed: Parsed): Promise<void> {
  const { json, dataDir: folder } = givenOptions(COMMON_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
  const { statistics = false, ...settings } = givenOptions(CHAT_OPTIONS, parsed, {});
  const { stdin, stdout } = process;
  const isChat = words === '' && !json && stdin.isTTY && stdout.isTTY;
  // A missing local model is reported before the prompt is read. Downloads start after that.
  const local = isHubName(name) ? null : await findNamed(name, folder);
  const isMissing = local !== null && !local.paths.every((file) => fs.existsSync(file));
  const prompt = isChat || isMissing ? '' : await readPrompt(words);
  const stop = stopOnInterrupt();
  const model = await load(name, local ?? (await findModel(name, folder)), parsed, stop.signal);
  const chat: Chat = { conversation: new Conversation(model, settings), statistics };
  try {
    if (isChat) await converse(chat, path.join(dataDir(folder), 'chat-history'), stop);
    else await completeOnce(chat, prompt, json === true, stop.signal);
  } finally {
    await model.close();
  }
}

/** The words of the command line, followed by what is piped into it. */
async function readPrompt(words: string): Promise<string> {
  const stat = fs.fstatSync(0);
  const piped = words === '' || stat.isFIFO() || stat.isFile() ? await readAll(process.stdin) : '';
  const prompt = [words, piped.trimEnd()].filter(Boolean).join('\n\n');
  if (prompt !== '') return prompt;
  throw new CommandFailed(EXIT.usage, 'the prompt on standard input is empty');
}

/** The signal is that of the running work; each interrupt aborts it once. */
interface Stop {
  signal: AbortSignal;
  now(): void;
  renew(): void;
}

function stopOnInterrupt(): Stop {
  let controller = new AbortController();
  const stop: Stop = {
    get signal() {
      return controller.signal;
    },
    now: () => controller.abort(new CommandFailed(EXIT.interrupted, 'stopped')),
    renew: () => {
      controller = new AbortController();
    },
  };
  process.on('SIGINT', stop.now);
  // The reader of a pipe has left.
  process.stdout.on('error', () => controller.abort(new CommandFailed(EXIT.failed, 'the output was closed')));
  return stop;
}

async function load(
  name: string,
  { paths, alias, mmproj }: FoundModels,
  parsed: Parsed,
  signal: AbortSignal,
): Promise<Model> {
  const options = givenOptions(CHAT_LOAD_OPTIONS, parsed);
  const [file = ''] = paths;
  const found = { ...(alias && { alias }), ...(mmproj !== undefined && { mmproj }) };
  // A chat is one conversation at a time.
  const all = { topK: desktop.sampling.topK, parallel: 1, ...found, ...options };
  const warning = await warnOfMemory(file, all);
  if (warning !== undefined) console.error(`chasqui: ${name} may not fit into memory. ${warning}`);
  const progress = showProgress(process.stderr, 'Loading the model');
  try {
    return await loadModel(file, all, { onProgress: progress.update, signal });
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(
      exitCodeOf(error),
      await explainStart(error, { ...(warning === undefined && { path: file }), load: all }),
    );
  } finally {
    progress.clear();
  }
}

async function completeOnce({ conversation, statistics }: Chat, prompt: string, json: boolean, signal: AbortSignal) {
  const isTerminal = process.stdout.isTTY === true;
  const printer = printerFor(isTerminal);
  const content = conversation.model.model.vision ? withImages(prompt) : prompt;
  let reply: Reply;
  try {
    reply = await conversation.complete(content, json ? () => {} : (token) => printer.add(token), signal);
  } finally {
    if (!json) printer.end();
  }
  if (json) printJson(toJson(conversation.model.model.id, reply));
  if (statistics) console.error(describeSpeed(reply.finish));
}

function toJson(model: string, { text, reasoning, finish }: Reply): object {
  const { reason, promptTokens, cachedTokens, completionTokens, timings } = finish;
  return {
    model,
    text,
    reasoning,
    finish_reason: reason,
    prompt_tokens: promptTokens,
    cached_tokens: cachedTokens,
    completion_tokens: completionTokens,
    prompt_ms: timings.promptMs,
    completion_ms: timings.predictedMs,
  };
}

function printerFor(isTerminal: boolean): CompletionPrinter {
  const style: PrintStyle = { reasoning: isTerminal, color: isTerminal && !process.env.NO_COLOR };
  return new CompletionPrinter((text) => process.stdout.write(text), style);
}

async function converse(chat: Chat, historyFile: string, stop: Stop): Promise<void> {
  const { model } = chat.conversation.model;
  console.log(`${model.id}, ${model.contextLength} tokens of context. /help lists the commands, /bye ends.`);
  const { stdin: input, stdout: output } = process;
  const reader = new ChatInput({ input, output, historyFile, onInterrupt: stop.now });
  try {
    for (;;) {
      const line = await reader.read();
      if (line === null) console.log();
      const said = line === null ? null : runCommand(chat, line);
      if (line === null || said === null) break;
      if (said !== undefined) console.log(said);
      else if (line.trim() !== '') await completeLine(chat, line, stop);
    }
  } finally {
    reader.close();
  }
}

/** Errors do not end the chat. */
async function completeLine({ conversation, statistics }: Chat, line: string, stop: Stop): Promise<void> {
  const printer = printerFor(true);
  const { signal } = stop;
  try {
    const content = withImages(line);
    const isText = typeof content === 'string';
    if (!isText && !conversation.model.model.vision) console.error('chasqui: this model cannot read images');
    const isUsed = isText || conversation.model.model.vision;
    const { finish } = await conversation.complete(isUsed ? content : line, (token) => printer.add(token), signal);
    printer.end();
    if (statistics) console.error(describeSpeed(finish));
  } catch (error) {
    printer.end();
    if (!signal.aborted) console.error(`chasqui: ${explainFailure(error)} /clear starts a new conversation.`);
  }
  if (signal.aborted) stop.renew();
}
