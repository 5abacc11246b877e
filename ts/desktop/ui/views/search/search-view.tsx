/** Hub search, with the selected model beside the results. */
import { useEffect } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Icon } from '../../parts/icon.js';
import { Page } from '../../parts/page.js';
import { library } from '../../state/app.js';
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
    <Page title="Search" wide>
      <Filters />
      {newcomer && !repo && <FirstModel />}
      <div class={repo ? 'search has-model' : 'search'}>
        <section class="results" aria-label="Models found" aria-busy={searching.value}>
          {searchError.value && (
            <div class="trouble" role="alert">
              <p>{searchError.value}</p>
              <Action label="Try again" icon="retry" run={() => search(nextPage.value)} />
            </div>
          )}
          <Results chosen={repo} />
          {nextPage.value && <Action label="More" run={() => search(nextPage.value)} />}
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
          aria-label="Search models"
          placeholder="Name, user/repo or URL"
          value={text}
          onInput={(event) => changeQuery({ text: event.currentTarget.value })}
        />
        <button type="submit">
          <Icon name="search" /> Search
        </button>
        <Choice label="Sort by" value={sort} choices={sorts} choose={(value) => changeQuery({ sort: value })} />
        <Choice label="For" value={capability} choices={uses} choose={(value) => changeQuery({ capability: value })} />
        <Choice
          label="Size"
          value={maxParameters}
          choices={sizes}
          choose={(value) => changeQuery({ maxParameters: value })}
        />
        <Choice label="Fit" value={fit} choices={fits} choose={(value) => changeQuery({ fit: value })} />
        <input
          class="filter-author"
          type="text"
          aria-label="Author"
          placeholder="Author"
          value={author}
          onInput={(event) => changeQuery({ author: event.currentTarget.value.trim() })}
        />
      </form>
    </search>
  );
}

type Choices = readonly [value: string, label: string][];

const sorts: Choices = [
  ['trending', 'Trending'],
  ['downloads', 'Most downloads'],
  ['likes', 'Most likes'],
  ['modified', 'Recently changed'],
  ['created', 'Newest'],
];

const uses: Choices = [
  ['', 'Any use'],
  ['chat', 'Chat'],
  ['tools', 'Tools'],
  ['vision', 'Images'],
  ['embeddings', 'Embeddings'],
];

const sizes: Choices = [
  ['', 'Any size'],
  ['2000000000', 'Up to 2B'],
  ['4500000000', 'Up to 4B'],
  ['9500000000', 'Up to 9B'],
  ['16000000000', 'Up to 16B'],
  ['36000000000', 'Up to 36B'],
];

const fits: Choices = [
  ['', 'Fits or not'],
  ['gpu', 'Fully on the GPU'],
  ['fits', 'Fits this computer'],
];

interface ChoiceProps {
  label: string;
  value: string;
  choices: Choices;
  choose: (value: string) => void;
}

function Choice({ label, value, choices, choose }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {choices.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </select>
  );
}
