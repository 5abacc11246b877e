import { FitBadge } from '../../parts/fit-meter.js';
import { Icon } from '../../parts/icon.js';
import { age, count, parameters, tokens } from '../../state/format.js';
import { linkTo } from '../../state/route.js';
import { found, type HubListedModel, searching } from '../../state/search.js';

export function Results({ chosen }: { chosen: string }) {
  const models = found.value;
  if (!models) return <p class="muted">{searching.value ? 'Searching …' : ''}</p>;
  if (models.length === 0) return <p class="muted">No models found. Try fewer words or other filters.</p>;
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
  const { repo, downloads, likes, modifiedAt, gated, capabilities, fit, downloaded } = model;
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
            <Icon name="lock" /> Gated
          </span>
        )}
        {downloaded.length > 0 && <span class="badge accent">Downloaded</span>}
        {capabilities
          .filter((each) => each !== 'chat')
          .map((each) => (
            <span key={each} class="badge">
              {each === 'vision' ? 'images' : each}
            </span>
          ))}
      </span>
      <span class="help">
        {count(downloads)} downloads · {count(likes)} likes
        {modifiedAt !== null && ` · ${age(modifiedAt)}`}
      </span>
    </a>
  );
}

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
      {model.contextLength !== null && <span class="badge">{tokens(model.contextLength)} context</span>}
    </>
  );
}
