import { batch, effect, signal } from '@preact/signals';
import type { HubModelPage, HubSearchPage } from '../../api-types.js';
import { ApiError, get, isAbort, post, query, wordsOf } from './api.js';
import { refreshLibrary } from './app.js';
import { t } from './language.js';
import { attempt, type Mend } from './notices.js';
import { go } from './route.js';

export type HubListedModel = HubSearchPage['models'][number];
export type HubQuantisation = HubModelPage['quantisations'][number];

export interface SearchQuery {
  text: string;
  sort: string;
  author: string;
  capability: string;
  fit: string;
  maxParameters: string;
}

export const searchQuery = signal<SearchQuery>({
  text: '',
  sort: 'trending',
  author: '',
  capability: 'chat',
  fit: '',
  maxParameters: '',
});
export const found = signal<readonly HubListedModel[] | undefined>(undefined);
export const searching = signal(false);
export const searchError = signal<string | null>(null);
export const nextPage = signal<string | null>(null);

const patienceMs = 300;
let searched: SearchQuery | undefined;
let controller: AbortController | undefined;

/** Searches with a debounce when the query changes. */
export function followQuery(): () => void {
  return effect(() => {
    const wanted = searchQuery.value;
    if (wanted === searched) return undefined;
    const timer = setTimeout(() => void search(), searched ? patienceMs : 0);
    return () => clearTimeout(timer);
  });
}

/** Starts a search, or loads the next page. */
export async function search(cursor: string | null = null): Promise<void> {
  controller?.abort();
  const mine = new AbortController();
  controller = mine;
  searched = searchQuery.value;
  searching.value = true;
  try {
    const path = `/hub/search${query({ ...searchQuery.value, text: searchQuery.value.text.trim(), cursor })}`;
    const reply = await get<HubSearchPage>(path, mine.signal);
    batch(() => {
      found.value = cursor === null ? reply.models : [...(found.value ?? []), ...reply.models];
      nextPage.value = reply.next;
      searchError.value = null;
    });
  } catch (error) {
    if (isAbort(error)) return;
    batch(() => {
      // Results of another query would look like those of this one.
      if (cursor === null) [found.value, nextPage.value] = [undefined, null];
      searchError.value = wordsOf(error);
    });
  }
  if (controller === mine) searching.value = false;
}

export function changeQuery(change: Partial<SearchQuery>): void {
  searchQuery.value = { ...searchQuery.value, ...change };
}

/**
 * Parses input that names a model: `https://huggingface.co/user/repo/tree/main`, `hf.co/user/repo:Q4_K_M`, `user/repo`.
 */
export function repoIn(text: string): string | undefined {
  const [, repo] =
    /^(?:https?:\/\/)?(?:(?:www\.)?huggingface\.co\/|hf\.co\/)?([\w.-]+\/[\w.-]+)/.exec(text.trim()) ?? [];
  return repo;
}

export const hubModel = signal<HubModelPage | undefined>(undefined);
export const hubModelError = signal<string | null>(null);

export async function openHubModel(repo: string, signal: AbortSignal): Promise<void> {
  hubModelError.value = null;
  if (hubModel.value?.repo !== repo) hubModel.value = undefined;
  try {
    hubModel.value = await get<HubModelPage>(`/hub/model${query({ repo })}`, signal);
  } catch (error) {
    if (!isAbort(error)) hubModelError.value = wordsOf(error);
  }
}

/** `anyway`: also if this llama.cpp does not support the architecture. */
export async function download(model: string, quantization?: string, anyway = false): Promise<void> {
  const body = { model, ...(quantization && { quantization }), ...(anyway && { any_architecture: true }) };
  await attempt(
    async () => {
      const reply = await post<{ status: string }>('/models/download', body);
      if (reply.status === 'already_downloaded') await refreshLibrary();
    },
    (error) => (error instanceof ApiError ? mendsFor(error, () => void download(model, quantization, true)) : []),
  );
}

function mendsFor({ code }: ApiError, downloadAnyway: () => void): readonly Mend[] {
  if (needsToken(code)) return [{ label: t('setHubToken'), run: () => go('settings') }];
  if (code === 'architecture_unknown') return [{ label: t('downloadAnyway'), run: downloadAnyway }];
  if (code === 'no_space') return [{ label: t('deleteModels'), run: () => go('models') }];
  return [];
}

export function needsToken(code: string | null | undefined): boolean {
  return ['hub_model_gated', 'hub_access_denied', 'hub_token_refused'].includes(code ?? '');
}

/** Recommends a popular small chat model that fits. */
export async function findFirstModel(signal: AbortSignal): Promise<HubListedModel | undefined> {
  const path = `/hub/search${query({ sort: 'downloads', capability: 'chat' })}`;
  const { models } = await get<HubSearchPage>(path, signal);
  const fitting = models.filter(({ gated, fit }) => gated === false && fit !== null && fit.badge !== 'too-large');
  const small = fitting.filter(({ parameters }) => parameters !== null && parameters <= 4.5e9);
  return small[0] ?? fitting[0];
}
