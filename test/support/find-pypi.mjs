// Packages of PyPI that tests use, and whether this machine can have them. Plain JavaScript, because test/run.mjs reads it
// too.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** The clients of the tier `clients-python`, by the names of their checks. */
const CLIENTS = {
  openai: 'openai==2.54.0',
  anthropic: 'anthropic==2.14.0',
  ollama: 'ollama==0.6.3',
  litellm: 'litellm==1.110.2',
};

/** In an environment of their own, because LiteLLM restricts the versions of dependencies. */
const FRAMEWORKS = {
  instructor: 'instructor==1.17.0',
  pydantic_ai: 'pydantic-ai-slim[openai]==2.31.1',
  agents: 'openai-agents==0.20.0',
  outlines: 'outlines==1.3.3',
  smolagents: 'smolagents==1.26.0',
  cohere: 'cohere==7.3.1',
};

const APPLICATIONS = {
  llama_index: ['llama-index-llms-openai-like==0.8.1', 'llama-index-embeddings-openai-like==0.4.0'],
  haystack: 'haystack-ai==3.4.1',
  autogen: ['autogen-ext[openai]==0.7.5', 'autogen-agentchat==0.7.5'],
  dspy: 'dspy==3.4.1',
};

/** It needs a newer client of OpenAI than the others accept. */
const EVALUATIONS = { inspect_ai: ['inspect-ai==0.3.285', 'openai==3.57.0', 'anthropic==2.14.0'] };

export const PYTHON_ENVIRONMENTS = [CLIENTS, FRAMEWORKS, APPLICATIONS, EVALUATIONS];

export const pypiFolder = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'chasqui', 'pypi');

/** The virtual environment of these packages. */
export function environmentOf(requirements) {
  return path.join(pypiFolder, requirements.flat().join('+'));
}

/** The file that an environment has once all its packages are installed. */
export function completeMark(environment) {
  return path.join(environment, 'complete');
}

/** Returns why a tier with large packages cannot run, or undefined. With its `environments` in the cache, it needs no network. */
export function noPypi(tier, environments = []) {
  const isWanted = process.env.CHASQUI_CI === 'full' || process.argv.includes(tier);
  if (!isWanted) return 'it runs with CHASQUI_CI=full, or if it is named';
  const areCached = environments.every((each) => fs.existsSync(completeMark(environmentOf(Object.values(each)))));
  if (environments.length > 0 && areCached) return undefined;
  const { status } = spawnSync('python3', ['-m', 'pip', 'index', 'versions', 'tokenizers']);
  return status === 0 ? undefined : 'no Python with pip, or PyPI cannot be reached';
}
