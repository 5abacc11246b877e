/** Hub search, model pages and memory estimates. */
import { number, objectOf, oneOf, orNull, string } from '../../http/schema/json-schema.js';
import { isKnownArchitecture } from '../../hub/architectures.js';
import { recommend } from '../../hub/quantisation-advice.js';
import { findUpdate } from '../../hub/updates.js';
import { activeShareOf, fitOf, fitOfListed } from '../advice.js';
import type { Fit, HubSearchQuery } from '../api-types.js';
import { exactFit, fitQuery, hubModel, hubModelQuery, hubPage, hubSearchQuery } from '../schemas/hub.js';
import { modelName } from '../schemas/models.js';
import type { DesktopApp, DesktopRoutes } from './context.js';
import { untilGone } from './until-gone.js';

const modelQuery = objectOf({ model: modelName });
const update = orNull(objectOf({ state: oneOf('same', 'changed', 'gone'), commit: string, bytes: number }));

export function hubRoutes(app: DesktopRoutes, desktop: DesktopApp): void {
  const { hub, models, machine, fits, speeds } = desktop;

  const speedOf = (model: Parameters<typeof activeShareOf>[0], sizeBytes: number, { badge }: Fit): number | null => {
    const share = activeShareOf(model);
    return share === null ? null : speeds.expect(sizeBytes * share, badge);
  };

  const search = { summary: 'Search the hub', querystring: hubSearchQuery, response: { 200: hubPage } };
  app.get('/api/v1/hub/search', { schema: search }, async ({ query: { fit: wanted, ...query } }, reply) => {
    const [page] = await Promise.all([hub.client.search(query, untilGone(reply)), speeds.prepare()]);
    const here = await models.list();
    const shown = page.models.map((model) => {
      const usual = fitOfListed(model, machine.now);
      return {
        ...model,
        fit: usual?.fit ?? null,
        tokensPerSecond: usual && speedOf(model, usual.sizeBytes, usual.fit),
        downloaded: here.flatMap(({ repo, quantisation }) => (repo === model.repo ? (quantisation ?? []) : [])),
      };
    });
    return { models: shown.filter(({ fit }) => isWanted(fit, wanted)), next: page.next };
  });

  const page = { summary: 'Read a model of the hub', querystring: hubModelQuery, response: { 200: hubModel } };
  app.get('/api/v1/hub/model', { schema: page }, async ({ query: { repo } }, reply) => {
    const [model] = await Promise.all([hub.client.model(repo, untilGone(reply)), speeds.prepare()]);
    const here = await models.list();
    const now = machine.now;
    const advice = recommend(model, now);
    const has = (label: string) => here.some((local) => local.repo === repo && local.quantisation === label);
    return {
      ...model,
      page: hub.client.pageOf(repo),
      isSupported: model.architecture === null ? null : isKnownArchitecture(model.architecture),
      quantisations: model.quantisations.map((each, at) => {
        const fit = fitOf(each, model, now);
        return {
          ...each,
          fit,
          recommended: advice[at] ?? null,
          downloaded: has(each.label),
          tokensPerSecond: speedOf(model, each.sizeBytes - (each.projector?.sizeBytes ?? 0), fit),
        };
      }),
    };
  });

  const fit = { summary: 'Exact memory estimate', querystring: fitQuery, response: { 200: exactFit } };
  app.get('/api/v1/models/fit', { schema: fit }, async ({ query }, reply) => {
    const [exact] = await Promise.all([fits.of(query.model, query.context, untilGone(reply)), speeds.prepare()]);
    const { activeShare, ...shown } = exact;
    return { ...shown, tokensPerSecond: speeds.expect(exact.weights * activeShare, exact.badge) };
  });

  const news = { summary: 'Check the hub for an update', querystring: modelQuery, response: { 200: update } };
  app.get('/api/v1/models/update', { schema: news }, async ({ query }, reply) => {
    const model = desktop.instances.find(query.model);
    const found =
      model.source === 'builtin'
        ? null
        : await findUpdate(hub.client, { ...model, source: model.source }, untilGone(reply));
    return reply.send(found);
  });
}

function isWanted(fit: { badge: string } | null, wanted: HubSearchQuery['fit']): boolean {
  if (wanted === undefined) return true;
  if (wanted === 'fits') return fit !== null && fit.badge !== 'too-large';
  return fit?.badge === wanted;
}
