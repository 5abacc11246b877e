/** Hub search, with the selected model beside the results. */

import { useEffect } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Icon } from '../../parts/icon.js';
import { Page } from '../../parts/page.js';
import { Select } from '../../parts/select.js';
import { library } from '../../state/app.js';
import { type MessageKey, t } from '../../state/language.js';
import { go, route } from '../../state/route.js';
import {
  changeQuery,
  followQuery,
  nextPage,
  repoIn,
  search,
  searchError,
  searching,
  searchQuery,
} from '../../state/search.js';
import { FirstModel } from './first-model.js';
import { ModelPage } from './model-page.js';
import { Results } from './results.js';

export function SearchView() {
  const repo = route.value?.rest ?? '';
  useEffect(() => followQuery(), []);
  const newcomer = library.value?.every(({ source }) => source === 'builtin') ?? false;
  return (
    <Page title={t('viewSearch')} wide>
      <Filters />
      {newcomer && !repo && <FirstModel />}
      <div class={repo ? 'search has-model' : 'search'}>
        <section class="results" aria-label={t('modelsFound')} aria-busy={searching.value}>
          {searchError.value && (
            <div class="trouble" role="alert">
              <p>{searchError.value}</p>
              <Action label={t('tryAgain')} icon="retry" run={() => search(nextPage.value)} />
            </div>
          )}
          <Results chosen={repo} />
          {nextPage.value && <Action label={t('more')} run={() => search(nextPage.value)} />}
        </section>
        {repo && <ModelPage key={repo} repo={repo} />}
      </div>
    </Page>
  );
}

function Filters() {
  const { text, sort, author, capability, fit, maxParameters } = searchQuery.value;
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const repo = repoIn(text);
          if (repo) go('search', repo);
          else void search();
        }}
      >
        <input
          class="filter-text"
          type="search"
          aria-label={t('searchModels')}
          placeholder={t('searchHint')}
          value={text}
          onInput={(event) => changeQuery({ text: event.currentTarget.value })}
        />
        <button type="submit">
          <Icon name="search" /> {t('search')}
        </button>
        <Select
          label={t('sortBy')}
          value={sort}
          options={translated(sorts)}
          choose={(value) => changeQuery({ sort: value })}
        />
        <Select
          label={t('forUse')}
          value={capability}
          options={translated(uses)}
          choose={(value) => changeQuery({ capability: value })}
        />
        <Select
          label={t('size')}
          value={maxParameters}
          options={[
            ['', t('anySize')],
            ...sizes.map((size): [string, string] => [String(size), t('upTo', { size: `${Math.floor(size / 1e9)}B` })]),
          ]}
          choose={(value) => changeQuery({ maxParameters: value })}
        />
        <Select
          label={t('fit')}
          value={fit}
          options={translated(fits)}
          choose={(value) => changeQuery({ fit: value })}
        />
        <input
          class="filter-author"
          type="text"
          aria-label={t('author')}
          placeholder={t('author')}
          value={author}
          onInput={(event) => changeQuery({ author: event.currentTarget.value.trim() })}
        />
      </form>
    </search>
  );
}

type Choices = readonly [value: string, label: MessageKey][];

const sorts: Choices = [
  ['trending', 'trending'],
  ['downloads', 'mostDownloads'],
  ['likes', 'mostLikes'],
  ['modified', 'recentlyChanged'],
  ['created', 'newest'],
];

const uses: Choices = [
  ['', 'anyUse'],
  ['chat', 'viewChat'],
  ['tools', 'useTools'],
  ['vision', 'useImages'],
  ['embeddings', 'useEmbeddings'],
];

/** In parameters. */
const sizes = [2e9, 4.5e9, 9.5e9, 16e9, 36e9];

const fits: Choices = [
  ['', 'fitsOrNot'],
  ['gpu', 'fullyOnGpu'],
  ['fits', 'fitsComputer'],
];

const translated = (choices: Choices) => choices.map(([value, label]): [string, string] => [value, t(label)]);
