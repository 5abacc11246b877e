/** Downloads, updated by events. */

import type { DownloadJob } from '../../api-types.js';
import { Action } from '../parts/button.js';
import { Icon } from '../parts/icon.js';
import { JobProgress } from '../parts/job-progress.js';
import { UseModel } from '../parts/model-parts.js';
import { Empty, Page } from '../parts/page.js';
import { activeDownloads, downloads } from '../state/app.js';
import { control, keyOf } from '../state/downloads.js';
import { age, bytes } from '../state/format.js';
import { t } from '../state/language.js';
import { go, linkTo } from '../state/route.js';
import { needsToken } from '../state/search.js';

export function DownloadsView() {
  const done = ({ state }: DownloadJob) => state === 'completed' || state === 'cancelled';
  const open = downloads.value.filter((job) => !done(job));
  const finished = downloads.value.filter(done);
  return (
    <Page title={t('viewDownloads')} actions={<Total />}>
      {downloads.value.length === 0 && (
        <Empty title={t('noDownloads')}>
          <p>{t('downloadsHelp')}</p>
          <Action label={t('findModel')} icon="search" kind="primary" run={() => go('search')} />
        </Empty>
      )}
      {open.length > 0 && <Jobs title={t('inProgress')} jobs={open} />}
      {finished.length > 0 && <Jobs title={t('done')} jobs={finished} />}
    </Page>
  );
}

function Total() {
  const active = activeDownloads.value;
  const speed = active.reduce((sum, { bytesPerSecond }) => sum + (bytesPerSecond ?? 0), 0);
  return speed > 0 ? <span class="muted">{bytes(speed)}/s</span> : null;
}

function Jobs({ title, jobs }: { title: string; jobs: readonly DownloadJob[] }) {
  return (
    <section class="jobs" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {jobs.map((job) => (
          <Job key={job.id} job={job} />
        ))}
      </ul>
    </section>
  );
}

function Job({ job }: { job: DownloadJob }) {
  const { model, state, error, totalBytes, finishedAt, startedAt } = job;
  const repo = model.split(':', 1)[0] ?? model;
  return (
    <li class="card job">
      <div class="job-main">
        <a href={linkTo('search', repo)}>
          <strong>{model}</strong>
        </a>
        {state === 'completed' || state === 'cancelled' ? (
          <span class="help">
            {state === 'completed' ? bytes(totalBytes) : t('cancelled')} · {age(finishedAt ?? startedAt)}
          </span>
        ) : (
          <JobProgress job={job} />
        )}
        {error && state === 'failed' && (
          <p class="problem" role="alert">
            <Icon name="warning" /> {error.message}
          </p>
        )}
      </div>
      <div class="row">
        <JobActions job={job} />
      </div>
    </li>
  );
}

function JobActions({ job }: { job: DownloadJob }) {
  const resume = (label: string, icon: 'play' | 'retry') => (
    <Action label={label} icon={icon} run={() => control(job, 'resume')} />
  );
  const cancel = <Action label={t('cancel')} icon="close" kind="quiet" run={() => control(job, 'cancel')} />;
  switch (job.state) {
    case 'completed': {
      const key = keyOf(job.model);
      return key === undefined ? null : <UseModel model={key} />;
    }
    case 'cancelled':
      return null;
    case 'paused':
      return (
        <>
          {resume(t('resume'), 'play')}
          {cancel}
        </>
      );
    case 'failed':
      return (
        <>
          {needsToken(job.error?.code) && (
            <Action label={t('setHubToken')} icon="settings" run={() => go('settings')} />
          )}
          {resume(t('tryAgain'), 'retry')}
          <Action label={t('remove')} icon="trash" kind="quiet" run={() => control(job, 'cancel')} />
        </>
      );
    default:
      return (
        <>
          {job.state !== 'verifying' && <Action label={t('pause')} icon="pause" run={() => control(job, 'pause')} />}
          {cancel}
        </>
      );
  }
}
