/** `chasqui launch`: starts a coding agent that works with the models of a server that runs. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Argument, Command } from 'commander';
import type { ModelList } from '../api/openai/models/schema.js';
import type { AppState } from '../desktop/api-types.js';
import { runtime } from '../profiles/runtime.js';
import { type AgentRecipe, type AgentServer, CODING_AGENTS, type CodingAgent } from './coding-agents.js';
import { dataFolder } from './data-dir.js';
import { DesktopClient } from './desktop-client.js';

const DEFAULT_URL = `http://127.0.0.1:${runtime.port}`;

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
    .description('Start a coding agent with the models of a server that runs.')
    .addArgument(new Argument('<agent>', 'which one').choices(CODING_AGENTS.map(({ name }) => name)))
    .argument('[args...]', 'what the agent is given beside')
    .option('--url <address>', `of the server, without /v1 (default: the desktop app's, or else ${DEFAULT_URL})`)
    .option('--model <id>', 'the model to work with (default: one that is loaded, or else the first)')
    .option('--dry-run', 'only show how the agent would be started')
    .option('--json', 'the same as JSON, for programs')
    .helpOption('-h, --help', 'explain the options')
    .addHelpText('after', HELP)
    .action(launch);
}

async function launch(name: string, args: readonly string[], options: LaunchOptions): Promise<void> {
  const agent = CODING_AGENTS.find((each) => each.name === name) as CodingAgent;
  try {
    const server = await findServer(options);
    const recipe = agent.recipe(server);
    const whole = { ...recipe, args: [...recipe.args, ...args] };
    if (options.json || options.dryRun) console.log(shown(agent, withoutKey(whole, server.key), options));
    else process.exitCode = await run(agent, whole);
  } catch (error) {
    console.error(`chasqui: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

async function findServer({ url, model }: LaunchOptions): Promise<AgentServer> {
  const address = (url ?? (await addressOfApp()) ?? DEFAULT_URL).replace(/\/+$/, '');
  const key = process.env.CHASQUI_API_KEY || null;
  return { url: address, model: model ?? (await chooseModel(address, key)), key };
}

/** `null`: the app does not run. */
async function addressOfApp(): Promise<string | null> {
  const app = await DesktopClient.findNow(dataFolder());
  if (app === null) return null;
  const { server } = await app.get<AppState>('/api/v1/state');
  if (server.address !== null) return server.address;
  throw new Error(
    'the server of the desktop app is stopped: press Start Server, or give the address of another (--url)',
  );
}

async function chooseModel(url: string, key: string | null): Promise<string> {
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const reply = await fetch(`${url}/v1/models`, { headers }).catch(() => null);
  if (reply === null) {
    throw new Error(`no server could be reached at ${url}: start one with chasqui serve, or give its address (--url)`);
  }
  if (!reply.ok) throw new Error(`the server at ${url} does not list its models: it replied with ${reply.status}`);
  const { data } = (await reply.json()) as ModelList;
  const chosen = data.find(({ status }) => status.value === 'loaded') ?? data[0];
  if (chosen === undefined) throw new Error(`the server at ${url} has no models`);
  return chosen.id;
}

/** Resolves with its exit code. What a terminal sends to both is the agent's to act upon. */
async function run({ name, install }: CodingAgent, { command, args, variables }: AgentRecipe): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...variables } });
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? new Error(`${name} is not on this computer: ${install}`) : error);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
}

/** The key itself may not end up in a log or in somebody's notes. */
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

/** As a shell reads it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
