import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { FitBadge } from '../../parts/fit-meter.js';
import { JobProgress } from '../../parts/job-progress.js';
import { UseModel } from '../../parts/model-parts.js';
import { activeDownloads, library } from '../../state/app.js';
import { linkTo } from '../../state/route.js';
import { download, findFirstModel, type HubListedModel, searchError } from '../../state/search.js';
import { ModelFacts } from './results.js';

/** Recommends a small model to users without one. */
export function FirstModel() {
  const model = useSignal<HubListedModel | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    findFirstModel(controller.signal).then(
      (first) => {
        model.value = first;
      },
      // The search below shows the hub's error.
      () => {},
    );
    return () => controller.abort();
  }, [model]);
  const job = activeDownloads.value[0];
  if (job) {
    return (
      <section class="card first-model" aria-label="Your first model">
        <p>
          <strong>{job.model}</strong> is downloading. When it is complete, <a href={linkTo('chat')}>chat</a> with it,
          or start a server for your programs in <a href={linkTo('developer')}>Developer</a>.
        </p>
        <JobProgress job={job} />
      </section>
    );
  }
  if (!model.value) return searchError.value ? <WithoutHub /> : null;
  const { repo, fit } = model.value;
  return (
    <section class="card first-model" aria-label="Your first model">
      <div>
        <p class="muted">A good first model: small, popular, and it fits this computer.</p>
        <p class="first-name">
          <a href={linkTo('search', repo)}>{repo}</a>
        </p>
        <p class="badges">
          <ModelFacts model={model.value} /> <FitBadge fit={fit} />
        </p>
      </div>
      <Action label="Download" icon="downloads" kind="primary" run={() => download(repo)} />
    </section>
  );
}

/** Offers the built-in demo model if the hub is unreachable. */
function WithoutHub() {
  const own = library.value?.find(({ source }) => source === 'builtin');
  if (!own) return null;
  return (
    <section class="card first-model" aria-label="Without the hub">
      <p class="muted">
        The hub is unreachable. You can already try the built-in demo model, <strong>{own.key}</strong>. To use models
        in your own folders, add the folders in <a href={linkTo('settings')}>Settings</a>.
      </p>
      <div class="row">
        <UseModel model={own.key} />
      </div>
    </section>
  );
}
