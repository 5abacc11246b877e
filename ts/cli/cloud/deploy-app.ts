/** Runs `chasqui deploy`: deploys an app of a script. */

import type { Deployed } from '../../cloud/apps/control.js';
import { checkLocalFiles } from '../../cloud/apps/runner-memory.js';
import type { FileMark, FileMarks } from '../../cloud/apps/weights.js';
import { canonicalJson, type Json } from '../../cloud/script/canonical-json.js';
import { nameOfField, withField } from '../../cloud/script/file-fields.js';
import { modelsIn } from '../../cloud/script/manifest.js';
import { readScript, type ScriptedApp } from '../../cloud/script/read-script.js';
import { modelIdOf } from '../../engine/load-options.js';
import { partsOf } from '../../engine/model-files.js';
import { ChasquiError } from '../../errors.js';
import type { OptionsOf } from '../../options/option-row.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { givenOptions } from '../options/table-options.js';
import { appRoute, CloudClient } from './client.js';
import { filesHere, markFile, marksOf } from './file-marks.js';
import { deployToKubernetes } from './kubernetes.js';
import { KUBERNETES_OPTIONS } from './kubernetes-option-table.js';
import { DEPLOY_OPTIONS } from './option-table.js';
import { printJson } from './outcome.js';
import { untilActive } from './until-active.js';

export type Options = { readonly [name: string]: Json };

export async function deployApp(entry: string, parsed: Readonly<Record<string, unknown>>): Promise<void> {
  // Ignore the environment: only the script and the command line define a deployment.
  const given = givenOptions(DEPLOY_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
  const { strategy = 'rolling', message, detach = false, check = false, json = false } = given;
  const app = await readScript(entry);
  const name = given.appName ?? app.name;
  checkLocalFiles(app.manifest, name);
  const kubernetes = givenOptions(KUBERNETES_OPTIONS, parsed, {});
  if (kubernetes.target === 'kubernetes') {
    const options = withAuth(app.options, given.auth);
    return deployToKubernetes({ ...app, name, options }, { ...given, ...kubernetes });
  }
  refuseClusterOptions(kubernetes);
  const cloud = await CloudClient.find(given.dataDir);
  const org = given.org ?? cloud.org;
  const { options, files } = await filesOf(app, withAuth(app.options, given.auth), cloud, check);
  const before = await activeOptions(cloud, org, name);
  const changes = differences(before, options);
  if (!json) for (const line of changes) console.log(line);
  if (check) {
    if (json) printJson({ app: name, org, changes });
    else if (changes.length === 0) console.log('Nothing would change.');
    return;
  }
  const body = { options, files, strategy, ...(message !== undefined && { message }) };
  const deployed = await cloud.post<Deployed>(`${appRoute(org, name)}/revisions`, body);
  if (deployed.unchanged && !json) console.log('Nothing has changed.');
  const state = detach || deployed.unchanged ? deployed.state : await untilActive(cloud, deployed, json);
  report({ ...deployed, state: state.toLowerCase() }, json);
}

/** Without `--to kubernetes`, these would have no effect, and `--dry-run` would deploy. */
function refuseClusterOptions({ target: _target, ...others }: OptionsOf<typeof KUBERNETES_OPTIONS>): void {
  const names = Object.keys(others) as (keyof typeof KUBERNETES_OPTIONS)[];
  if (names.length === 0) return;
  const flags = names.map((name) => KUBERNETES_OPTIONS[name].flag).join(', ');
  const advice = 'Add `--to kubernetes`, or use `--check` to see what a deployment to the cloud would change.';
  throw new CommandFailed(EXIT.usage, `${flags}: only for a deployment to Kubernetes. ${advice}`);
}

/** The option takes precedence over the script. */
export function withAuth(options: Options, auth: string | undefined): Options {
  return auth === undefined ? options : { ...options, auth };
}

function report({ app, org, revision, url, state }: Deployed, json: boolean): void {
  if (json) printJson({ app, org, revision, url, state });
  else console.log(`Revision ${revision} of ${org}/${app} is ${state}.\n\n  ${url}/v1\n`);
}

/** A cloud on this machine gets paths and digests; for a remote cloud, uploads the files. */
async function filesOf(
  app: ScriptedApp,
  options: Options,
  cloud: CloudClient,
  check: boolean,
): Promise<{ options: Options; files: FileMarks }> {
  if (cloud.isLocal) return { options, files: await marksOf(options) };
  const files: Record<string, FileMark> = {};
  let sent = options;
  for (const { at, path } of filesHere(options)) {
    refuseParts(path, nameOfField(at));
    const mark = await markFile(path, at);
    if (check) continue;
    const there = await cloud.upload(path, mark.sha256);
    files[there] = mark;
    sent = withField(sent, at, `file:${there}`);
  }
  return { options: sent === options ? options : withNames(sent, app), files };
}

/** Uploaded files are named by their digest, so llama.cpp could not find the other parts of a split model. */
function refuseParts(path: string, field: string): void {
  const count = partsOf(path).length;
  if (count === 1) return;
  throw new ChasquiError(
    'script_invalid',
    `\`${field}\` is a model in ${count} files, which cannot be sent to another machine: join them, as llama.cpp's ` +
      'llama-gguf-split does, or name a hub, as in hf:org/repository.',
  );
}

/** Sets aliases, because uploaded files do not keep the file name that names the model. */
function withNames(options: Options, { manifest }: ScriptedApp): Options {
  const names = modelsIn(manifest).map((model) => modelIdOf('', model.options) || null);
  const { models } = options;
  if (models === undefined) return { alias: names[0] ?? null, ...options };
  const named = (models as readonly Options[]).map((model, index) => ({ alias: names[index] ?? null, ...model }));
  return { ...options, models: named };
}

/** Returns null if the app does not exist yet. */
async function activeOptions(cloud: CloudClient, org: string, name: string): Promise<Options | null> {
  try {
    const { revision, revisions } = await cloud.app(org, name);
    return (revisions.find(({ number }) => number === revision)?.options as Options | undefined) ?? null;
  } catch (error) {
    if (error instanceof ChasquiError && error.code === 'app_not_found') return null;
    throw error;
  }
}

/** Returns one line per changed setting. */
export function differences(before: Options | null, after: Options): string[] {
  const old = flat(before ?? {});
  const now = flat(after);
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  return names.flatMap((name) => {
    const [from, to] = [old.get(name), now.get(name)];
    if (from === to) return [];
    if (before === null || from === undefined) return [`  + ${name}: ${shown(to)}`];
    return to === undefined ? [`  - ${name}: ${shown(from)}`] : [`  ~ ${name}: ${shown(from)} -> ${shown(to)}`];
  });
}

/** Shortens long values such as chat templates. */
const MAX_SHOWN = 200;

function shown(json = ''): string {
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}... (${json.length} characters)` : json;
}

function flat(options: Json, prefix = ''): Map<string, string> {
  if (Array.isArray(options) && options.some((each) => typeof each === 'object')) {
    return new Map(options.flatMap((each, index) => [...flat(each, `${prefix}[${index}]`)]));
  }
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    return new Map([[prefix, canonicalJson(options)]]);
  }
  const members = Object.entries(options as Options);
  return new Map(members.flatMap(([name, value]) => [...flat(value, prefix === '' ? name : `${prefix}.${name}`)]));
}
