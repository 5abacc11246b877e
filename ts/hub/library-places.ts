/** Folders with models on this computer, from the environment and the settings of other programs. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { toObject, toText } from './read-hub-replies.js';

export interface LibraryPlaces {
  /** Shared with llama.cpp and Hugging Face's programs. */
  cacheFolder: string;
  lmStudioFolders: readonly string[];
  /** Folders with Ollama's `manifests` and `blobs`. */
  ollamaFolders: readonly string[];
  folders: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export function libraryPlaces(
  environment: Environment,
  cacheFolder: string,
  folders: readonly string[],
): LibraryPlaces {
  return {
    cacheFolder,
    lmStudioFolders: lmStudioFolders(),
    ollamaFolders: ollamaFolders(environment),
    folders: [...new Set(folders.map((folder) => path.resolve(folder)))],
  };
}

function lmStudioFolders(): string[] {
  const home = lmStudioHome();
  const chosen = readJson(path.join(home, 'settings.json')).downloadsFolder;
  const folders = [
    toText(chosen, 4096),
    path.join(home, 'models'),
    path.join(homedir(), '.cache', 'lm-studio', 'models'),
  ];
  return [...new Set(folders)].filter((folder): folder is string => folder !== null && existsSync(folder));
}

/** LM Studio stores the path of its folder in a file in the home folder. */
function lmStudioHome(): string {
  try {
    const pointed = readFileSync(path.join(homedir(), '.lmstudio-home-pointer'), 'utf8').trim();
    if (path.isAbsolute(pointed) && pointed.length < 4096) return pointed;
  } catch {
    // Absent before LM Studio's first start.
  }
  return path.join(homedir(), '.lmstudio');
}

/** On Linux, the Ollama service has its own account. */
function ollamaFolders({ OLLAMA_MODELS }: Environment): string[] {
  const folders = [OLLAMA_MODELS || path.join(homedir(), '.ollama', 'models'), '/usr/share/ollama/.ollama/models'];
  return folders.filter((folder) => existsSync(path.join(folder, 'manifests')));
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  try {
    return statSync(file).size > 2 ** 20 ? {} : toObject(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
