import { useEffect } from 'preact/hooks';
import type { HubModelPage } from '../../../api-types.js';
import { Action } from '../../parts/button.js';
import { FitBadge, Speed } from '../../parts/fit-meter.js';
import { Icon } from '../../parts/icon.js';
import { JobProgress } from '../../parts/job-progress.js';
import { Markdown } from '../../parts/markdown.js';
import { UseModel } from '../../parts/model-parts.js';
import { Rich } from '../../parts/rich.js';
import { isActive, settings } from '../../state/app.js';
import { control, downloadOf, keyOf } from '../../state/downloads.js';
import { bytes } from '../../state/format.js';
import { t } from '../../state/language.js';
import { linkTo } from '../../state/route.js';
import { download, type HubQuantisation, hubModel, hubModelError, openHubModel } from '../../state/search.js';
import { MemoryNeeded } from './memory-needed.js';
import { ModelFacts } from './results.js';

export function ModelPage({ repo }: { repo: string }) {
  useEffect(() => {
    const controller = new AbortController();
    void openHubModel(repo, controller.signal);
    return () => controller.abort();
  }, [repo]);
  const model = hubModel.value?.repo === repo ? hubModel.value : undefined;
  return (
    <section class="card model-page" aria-label={repo}>
      <a class="button quiet back" href={linkTo('search')}>
        <Icon name="back" /> {t('allModels')}
      </a>
      <header>
        <h2>{repo}</h2>
        {model && <Facts model={model} />}
      </header>
      {hubModelError.value && (
        <p class="problem" role="alert">
          {hubModelError.value}
        </p>
      )}
      {!model && !hubModelError.value && <p class="muted">{t('loading')}</p>}
      {model?.gated && <Gated page={model.page} />}
      {model?.isSupported === false && (
        <p class="hint">
          <Icon name="warning" /> {t('unsupportedArchitecture', { architecture: model.architecture ?? '' })}
        </p>
      )}
      {model && <Quantisations model={model} />}
      {model?.readme && (
        <details class="readme" open>
          <summary>{t('readme')}</summary>
          <Markdown text={model.readme} />
        </details>
      )}
    </section>
  );
}

function Facts({ model }: { model: HubModelPage }) {
  return (
    <p class="badges">
      <ModelFacts model={model} />
      {model.licence && <span class="badge">{t('licence', { name: model.licence })}</span>}
      <a href={model.page} target="_blank" rel="noopener noreferrer">
        {t('pageOnHub')}
      </a>
    </p>
  );
}

function Gated({ page }: { page: string }) {
  const accept = (
    <a href={page} target="_blank" rel="noopener noreferrer">
      {t('acceptOnPage')}
    </a>
  );
  const token = <a href={linkTo('settings')}>{t('setTokenInSettings')}</a>;
  return (
    <p class="hint">
      <Icon name="lock" />{' '}
      <Rich message={settings.value?.hasHubToken ? 'acceptTerms' : 'acceptTermsAndToken'} values={{ accept, token }} />
    </p>
  );
}

function Quantisations({ model }: { model: HubModelPage }) {
  if (model.quantisations.length === 0) return <p class="muted">{t('noGguf')}</p>;
  const hasSpeeds = model.quantisations.some(({ tokensPerSecond }) => tokensPerSecond !== null);
  return (
    <>
      <ul class="quantisations" aria-label={t('files')}>
        {advisedFirst(model.quantisations).map((quantisation) => (
          <QuantisationRow key={quantisation.label} model={model} quantisation={quantisation} />
        ))}
      </ul>
      {hasSpeeds && <p class="help">{t('speedIsEstimated')}</p>}
    </>
  );
}

/** Recommended first, then better, then the others by size. */
function advisedFirst(all: readonly HubQuantisation[]): readonly HubQuantisation[] {
  const ranks = ['recommended', 'better', null];
  return all.toSorted((a, b) => ranks.indexOf(a.recommended) - ranks.indexOf(b.recommended));
}

function QuantisationRow({ model, quantisation }: { model: HubModelPage; quantisation: HubQuantisation }) {
  const { label, sizeBytes, words, fit, recommended, projector, files, tokensPerSecond } = quantisation;
  return (
    <li class="quantisation">
      <div>
        <p class="quantisation-name">
          <strong>{label}</strong> <span>{bytes(sizeBytes)}</span>
          {recommended && <span class="badge accent">{t(recommended)}</span>}
          <FitBadge fit={fit} />
        </p>
        <p class="help">
          {words}
          <Speed tokensPerSecond={tokensPerSecond} />
          {files.length > 1 && ` · ${t('partCount', { count: files.length })}`}
          {projector && ` · ${t('understandsImages')}`}
        </p>
        <MemoryNeeded model={`${model.repo}:${label}`} longest={model.contextLength} />
      </div>
      <QuantisationAction repo={model.repo} quantisation={quantisation} />
    </li>
  );
}

function QuantisationAction({ repo, quantisation }: { repo: string; quantisation: HubQuantisation }) {
  const { label, downloaded, recommended, fit } = quantisation;
  const key = keyOf(`${repo}:${label}`);
  if (key !== undefined || downloaded) {
    return (
      <div class="row">
        <span class="badge good">{t('downloaded')}</span>
        {key !== undefined && <UseModel model={key} />}
      </div>
    );
  }
  const job = downloadOf(repo, label);
  if (job && (isActive(job) || job.state === 'paused')) {
    return (
      <div class="quantisation-job">
        <JobProgress job={job} />
        {job.state === 'paused' ? (
          <Action label={t('resume')} kind="quiet" icon="play" run={() => control(job, 'resume')} />
        ) : (
          <Action label={t('pause')} kind="quiet" icon="pause" run={() => control(job, 'pause')} />
        )}
      </div>
    );
  }
  const kind = recommended === 'recommended' ? { kind: 'primary' as const } : {};
  const words = t(fit.badge === 'too-large' ? 'downloadAnyway' : 'download');
  return (
    <div class="quantisation-job">
      {job?.state === 'failed' && <p class="problem">{job.error?.message}</p>}
      <Action label={`${words} ${label}`} icon="downloads" {...kind} run={() => download(repo, label)}>
        {words}
        <span class="unseen"> {label}</span>
      </Action>
    </div>
  );
}
