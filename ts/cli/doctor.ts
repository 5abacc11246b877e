/** `chasqui doctor`: tests the installed backends and prints which one would be selected. */
import { Command } from 'commander';
import { formatBytes } from '../hub/format-bytes.js';
import type { ModuleReport } from '../native/choose-modules.js';
import type { Diagnosis, PackageReport } from '../native/diagnosis.js';
import { ownCall } from '../own-call.js';
import { toJson } from './output/json.js';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Test all installed backends and show which one is selected.')
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Show help')
    .action(doctor);
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { diagnose } = await import('../native/diagnosis.js');
  const diagnosis = await diagnose();
  console.log(options.json ? toJson(diagnosis, 2) : describe(diagnosis));
  // The exit code tells programs whether a backend works.
  if (diagnosis.chosen.length === 0) process.exitCode = 1;
}

/** `--list-devices`, as in llama-server. */
export async function listDevices(): Promise<void> {
  const { diagnose } = await import('../native/diagnosis.js');
  const { modules, problem } = await diagnose();
  const lines = modules.filter(({ backend }) => backend !== 'cpu').flatMap(describeDevices);
  console.log(['Available devices:', ...lines].join('\n'));
  if (lines.length === 0)
    console.error(problem ?? `There is no usable GPU; \`${ownCall()} doctor\` shows the reasons.`);
}

export function describe(found: Diagnosis): string {
  const modules = found.modules.flatMap(describeModule);
  return [
    `chasqui ${found.chasqui}, Node ${found.node}, ${found.platform} (${found.osRelease})`,
    `${found.cpu}, ${formatBytes(found.availableBytes)} of ${formatBytes(found.memoryBytes)} of memory available`,
    '',
    found.problem ?? `Native part: ${found.addon}`,
    '',
    'Packages',
    ...found.packages.map(describePackage),
    '',
    'Modules, in order of preference',
    ...(modules.length > 0 ? modules : ['  none']),
    ...(found.notPossible === undefined ? [] : [`  They could not be tested: ${found.notPossible}`]),
    '',
    `Chosen: ${found.chosen.join(' and ') || 'nothing'}. ${found.because}`,
  ].join('\n');
}

function describePackage({ name, version, directory, problem, install, needed }: PackageReport): string {
  if (problem === undefined) return `  ${name} ${version}: ${directory}`;
  return `  ${name}: ${problem}${needed ? '' : ' (and not needed)'}; ${install}`;
}

/** llama.cpp reports all of the main memory as free, so it is omitted for CPU modules. */
function describeModule(module: ModuleReport): string[] {
  const { name, verdict, reason } = module;
  const head = `  ${name}: ${verdict}${reason === undefined ? '' : `, ${reason}`}`;
  return [head, ...describeDevices(module).map((line) => `  ${line}`)];
}

function describeDevices({ backend, devices }: ModuleReport): string[] {
  const memoryOf = (device: ModuleReport['devices'][number]) => (backend === 'cpu' ? '' : `, ${memory(device)}`);
  return devices.map((device) => `  ${device.name}: ${device.description}${memoryOf(device)}`);
}

function memory({ memoryFree, memoryTotal }: ModuleReport['devices'][number]): string {
  return memoryTotal === 0 ? 'memory unknown' : `${formatBytes(memoryFree)} of ${formatBytes(memoryTotal)} free`;
}
