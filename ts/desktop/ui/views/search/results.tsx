import { FitBadge, Speed } from '../../parts/fit-meter.js';
import { Icon } from '../../parts/icon.js';
import { age, parameters, tokens } from '../../state/format.js';
import { t } from '../../state/language.js';
import { linkTo } from '../../state/route.js';
import { found, type HubListedModel, searching } from '../../state/search.js';

export function Results({ chosen }: { chosen: string }) {
  const models = found.value;
  if (!models) return <p class="muted">{searching.value ? t('searching') : ''}</p>;
  if (models.length === 0) return <p class="muted">{t('noModelsFound')}</p>;
  return (
    <ul class="result-list">
      {models.map((model) => (
        <li key={model.repo}>
          <Result model={model} chosen={model.repo === chosen} />
        </li>
      ))}
    </ul>
  );
}

function Result({ model, chosen }: { model: HubListedModel; chosen: boolean }) {
  const { repo, downloads, likes, modifiedAt, gated, capabilities, fit, downloaded, tokensPerSecond } = model;
  const [author, ...name] = repo.split('/');
  return (
    <a class="result" href={linkTo('search', repo)} aria-current={chosen ? 'true' : undefined}>
      <span class="result-name">
        <strong>{name.join('/')}</strong>
        <span class="muted">{author}</span>
      </span>
      <span class="badges">
        <ModelFacts model={model} />
        <FitBadge fit={fit} />
        {gated && (
          <span class="badge">
            <Icon name="lock" /> {t('gated')}
          </span>
        )}
        {downloaded.length > 0 && <span class="badge accent">{t('downloaded')}</span>}
        {capabilities
          .filter((each) => each !== 'chat')
          .map((each) => (
            <span key={each} class="badge">
              {each in capabilityWords ? t(capabilityWords[each as keyof typeof capabilityWords]) : each}
            </span>
          ))}
      </span>
      <span class="help">
        {t('downloadCount', { count: downloads })} · {t('likeCount', { count: likes })}
        {modifiedAt !== null && ` · ${age(modifiedAt)}`}
        <Speed tokensPerSecond={tokensPerSecond} />
      </span>
    </a>
  );
}

const capabilityWords = { vision: 'images', tools: 'tools', embeddings: 'embeddings', reasoning: 'reasons' } as const;

interface Facts {
  parameters: number | null;
  architecture: string | null;
  contextLength: number | null;
}

/** Size, family and context length of a model. */
export function ModelFacts({ model }: { model: Facts }) {
  return (
    <>
      {model.parameters !== null && <span class="badge">{parameters(model.parameters)}</span>}
      {model.architecture && <span class="badge">{model.architecture}</span>}
      {model.contextLength !== null && (
        <span class="badge">{t('contextLength', { context: tokens(model.contextLength) })}</span>
      )}
    </>
  );
}
