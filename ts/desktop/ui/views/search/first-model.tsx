import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { FitBadge } from '../../parts/fit-meter.js';
import { JobProgress } from '../../parts/job-progress.js';
import { UseModel } from '../../parts/model-parts.js';
import { Rich } from '../../parts/rich.js';
import { activeDownloads, library } from '../../state/app.js';
import { t } from '../../state/language.js';
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
      <section class="card first-model" aria-label={t('firstModel')}>
        <p>
          <Rich
            message="firstDownloading"
            values={{
              model: <strong>{job.model}</strong>,
              chat: <a href={linkTo('chat')}>{t('chatWith')}</a>,
              developer: <a href={linkTo('developer')}>{t('viewDeveloper')}</a>,
            }}
          />
        </p>
        <JobProgress job={job} />
      </section>
    );
  }
  if (!model.value) return searchError.value ? <WithoutHub /> : null;
  const { repo, fit } = model.value;
  return (
    <section class="card first-model" aria-label={t('firstModel')}>
      <div>
        <p class="muted">{t('goodFirstModel')}</p>
        <p class="first-name">
          <a href={linkTo('search', repo)}>{repo}</a>
        </p>
        <p class="badges">
          <ModelFacts model={model.value} /> <FitBadge fit={fit} />
        </p>
      </div>
      <Action label={t('download')} icon="downloads" kind="primary" run={() => download(repo)} />
    </section>
  );
}

/** Offers the built-in demo model if the hub is unreachable. */
function WithoutHub() {
  const own = library.value?.find(({ source }) => source === 'builtin');
  if (!own) return null;
  return (
    <section class="card first-model" aria-label={t('withoutHub')}>
      <p class="muted">
        <Rich
          message="hubUnreachable"
          values={{
            model: <strong>{own.key}</strong>,
            settings: <a href={linkTo('settings')}>{t('viewSettings')}</a>,
          }}
        />
      </p>
      <div class="row">
        <UseModel model={own.key} />
      </div>
    </section>
  );
}
