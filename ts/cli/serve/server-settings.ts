/** Converts the options for log, metrics and shutdown to server settings. */
import process from 'node:process';
import type { LogOptions } from '../../http/log-levels.js';
import type { OtherNames } from '../../metrics/other-names.js';
import type { StartSettings } from '../../server/start.js';
import { HOSTING_OPTIONS, type HostingOptions } from '../options/hosting-option-table.js';
import { toList } from '../options/table-options.js';
import { lineWriter } from '../output/log-output.js';

export function serverSettings(options: HostingOptions): {
  settings: Pick<StartSettings, 'shutdownTimeoutMs' | 'metricsNames'>;
  log: LogOptions;
} {
  const { shutdownTimeout = HOSTING_OPTIONS.shutdownTimeout.default, metricsNames, llamacppMetrics } = options;
  // The option table rejects other names.
  const names = new Set([...(metricsNames ? toList(metricsNames) : []), ...(llamacppMetrics ? ['llamacpp'] : [])]);
  const { logFormat = HOSTING_OPTIONS.logFormat.default, logLevel = HOSTING_OPTIONS.logLevel.default } = options;
  return {
    settings: {
      shutdownTimeoutMs: shutdownTimeout * 1000,
      metricsNames: [...names] as OtherNames[],
    },
    log: { level: logLevel, prompts: options.logPrompts ?? false, write: lineWriter(process.stderr, logFormat) },
  };
}
