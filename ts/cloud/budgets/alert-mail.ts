/** The texts of e-mails with alerts. */
import type { Alert } from './budget-store.js';

export function alertMail({ org, keyId, month, unit, level, used, budget, at }: Alert) {
  const name = keyId === '' ? `the organisation ${org}` : `the API key ${keyId} of ${org}`;
  const percent = Math.floor((100 * used) / budget);
  const event = level === 'limit' ? 'reached its limit' : `used ${percent} % of its limit`;
  const effect = level === 'limit' ? 'Further requests are refused until the month ends or the budget is raised.' : '';
  const lines = [
    `The budget of ${name} has ${event} of ${unit} in ${month}.`,
    `Used: ${used} of ${budget} ${unit} at ${new Date(at).toISOString()}.`,
    effect,
  ];
  return { subject: `Budget of ${name}: ${event}`, text: `${lines.filter(Boolean).join('\n\n')}\n` };
}
