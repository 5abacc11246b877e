import Fastify from 'fastify';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PERMISSIONS, scopeOf } from '../../../../ts/cloud/accounts/permissions.ts';
import { accountsRoutes } from '../../../../ts/cloud/accounts/routes.ts';
import { apiRoutes } from '../../../../ts/cloud/api/routes.ts';
import { budgetRoutes } from '../../../../ts/cloud/budgets/routes.ts';
import { metricsRoute } from '../../../../ts/cloud/metrics/cloud-metrics.ts';
import { queueManagementRoutes } from '../../../../ts/cloud/queue/management-routes.ts';

test('the table has all management routes and no others', async () => {
  const app = Fastify({ exposeHeadRoutes: false });
  const routes: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    routes.push(`${method} ${url}`);
  });
  for (const add of [apiRoutes, accountsRoutes, metricsRoute, queueManagementRoutes, budgetRoutes])
    add(app, {} as never);
  await app.ready();
  assert.equal([...routes, 'POST /api/cloud/v1/setup-link'].sort(), Object.keys(PERMISSIONS).sort());
});

test('a route without a permission is refused, and HEAD needs that of GET', () => {
  assert.is(scopeOf('HEAD', '/metrics'), 'read');
  for (const route of [undefined, '/other', 'constructor']) assert.throws(() => scopeOf('GET', route), /permissions/);
});

test.run();
