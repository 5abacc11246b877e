/** `chasqui launch`: starts a coding agent with the models of a running server. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Argument, Command } from 'commander';
import type { ListedModel, ModelList } from '../api/openai/models/schema.js';
import type { AppState } from '../desktop/api-types.js';
import { dataFolder } from '../hub/data-folder.js';
import { type AgentRecipe, type AgentServer, CODING_AGENTS, type CodingAgent } from './coding-agents.js';
import { DesktopClient } from './desktop/desktop-client.js';
import { CommandFailed, EXIT, withExitCode } from './errors/exit-codes.js';
import { askServer, DEFAULT_URL, serverAddress } from './server-address.js';

/** The prompts of coding agents begin with 10,000 tokens or more. */
const USUAL_CONTEXT = 32_768;

const MAX_NAMES = 5;

const HELP = `
What stands after -- is for the agent: chasqui launch codex -- --help. The
variable CHASQUI_API_KEY holds the key of a server that wants one; it is not
shown.`;

interface LaunchOptions {
  url?: string;
  model?: string;
  dryRun?: boolean;
  json?: boolean;
}

export function launchCommand(): Command {
  return new Command('launch')
    .description('Start a coding agent with the models of a running server.')
    .addArgument(new Argument('<agent>', 'which one').choices(CODING_AGENTS.map(({ name }) => name)))
    .argument('[args...]', 'Additional arguments of the agent')
    .option('--url <address>', `Address of the server (default: the desktop app, or ${DEFAULT_URL})`)
    .option('--model <id>', 'Model to use (default: a loaded one, or the first)')
    .option('--dry-run', 'Print the command without starting the agent')
    .option('--json', 'Print the command as JSON')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
    .action(launch);
}

async function launch(name: string, args: readonly string[], options: LaunchOptions): Promise<void> {
  const agent = CODING_AGENTS.find((each) => each.name === name) as CodingAgent;
  await withExitCode(async () => {
    const server = await findServer(options);
    const recipe = agent.recipe(server);
    const whole = { ...recipe, args: [...recipe.args, ...args] };
    if (options.json || options.dryRun) console.log(shown(agent, withoutKey(whole, server.key), options));
    else process.exitCode = await run(agent, whole);
  });
}

async function findServer({ url, model }: LaunchOptions): Promise<AgentServer> {
  const address = serverAddress(url ?? (await addressOfApp()) ?? DEFAULT_URL);
  const key = process.env.CHASQUI_API_KEY || null;
  const { id, context_length: context } = await chooseModel(address, key, model);
  if (context !== undefined && context < USUAL_CONTEXT) {
    console.error(
      `chasqui: the context of ${id} has ${context} tokens; coding agents need ${USUAL_CONTEXT} (serve --ctx-size ${USUAL_CONTEXT})`,
    );
  }
  return { url: address, model: id, key };
}

/** Returns `null` if the app is not running. */
async function addressOfApp(): Promise<string | null> {
  const app = await DesktopClient.findNow(dataFolder(process.env));
  if (app === null) return null;
  const { server } = await app.get<AppState>('/api/v1/state');
  if (server.address !== null) return server.address;
  throw new CommandFailed(
    EXIT.unreachable,
    'the server of the desktop app is stopped: press Start Server, or give the address of another (--url)',
  );
}

/** @param wanted an id or alias; default: a loaded model, or else the first */
async function chooseModel(url: string, key: string | null, wanted: string | undefined): Promise<ListedModel> {
  const reply = await askServer(url, '/v1/models', key === null ? {} : { headers: { authorization: `Bearer ${key}` } });
  if (!reply.ok) {
    const message = `the server at ${url} does not list its models: it replied with ${reply.status}`;
    throw new CommandFailed(EXIT.unreachable, message);
  }
  const { data } = (await reply.json()) as ModelList;
  const isWanted = ({ id, aliases = [] }: ListedModel) => id === wanted || aliases.includes(wanted ?? '');
  const chosen = wanted === undefined ? (data.find(isLoaded) ?? data[0]) : data.find(isWanted);
  if (chosen !== undefined) return wanted === undefined ? chosen : { ...chosen, id: wanted };
  const names = data
    .map(({ id }) => id)
    .slice(0, MAX_NAMES)
    .join(', ');
  const missing = wanted === undefined ? 'any model' : wanted;
  throw new CommandFailed(
    EXIT.notFound,
    `the server at ${url} does not have ${missing}${names && `; it has ${names}`}`,
  );
}

function isLoaded({ status }: ListedModel): boolean {
  return status.value === 'loaded';
}

/** Resolves with the exit code of the agent. Ignores terminal signals, which the agent receives as well. */
async function run({ name, install }: CodingAgent, { command, args, variables }: AgentRecipe): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...variables } });
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const missing = new CommandFailed(EXIT.failed, `${name} is not on this computer: ${install}`);
      reject(error.code === 'ENOENT' ? missing : error);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
}

/** Masks the key, so the output can be shared. */
function withoutKey(recipe: AgentRecipe, key: string | null): AgentRecipe {
  if (key === null) return recipe;
  const variables = Object.entries(recipe.variables).map(([name, value]) => [
    name,
    value === key ? '<CHASQUI_API_KEY>' : value,
  ]);
  return { ...recipe, variables: Object.fromEntries(variables) };
}

function shown({ name }: CodingAgent, recipe: AgentRecipe, { json }: LaunchOptions): string {
  if (json) return JSON.stringify({ agent: name, ...recipe }, null, 2);
  const set = Object.entries(recipe.variables).map(([variable, value]) => `export ${variable}=${quoted(value)}`);
  return [...set, [recipe.command, ...recipe.args.map(quoted)].join(' ')].join('\n');
}

/** Quotes an argument for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
