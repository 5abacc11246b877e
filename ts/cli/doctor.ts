/** `chasqui doctor`: what is installed, what each backend can do here, and what would be chosen. */
import { Command } from 'commander';
import type { ModuleReport } from '../native/choose-modules.js';
import type { Diagnosis, PackageReport } from '../native/diagnosis.js';

const GIB = 2 ** 30;

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Try everything that chasqui could compute with here, and say what it would choose.')
    .option('--json', 'print JSON, for programs')
    .helpOption('-h, --help', 'explain the options')
    .action(doctor);
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { diagnose } = await import('../native/diagnosis.js');
  const diagnosis = await diagnose();
  console.log(options.json ? JSON.stringify(diagnosis, null, 2) : describe(diagnosis));
  // Programs ask whether it would work.
  if (diagnosis.chosen.length === 0) process.exitCode = 1;
}

export function describe(found: Diagnosis): string {
  const modules = found.modules.flatMap(describeModule);
  return [
    `chasqui ${found.chasqui}, Node ${found.node}, ${found.platform} (${found.osRelease})`,
    `${found.cpu}, ${gib(found.memoryBytes)} of memory`,
    '',
    found.problem ?? `Native part: ${found.addon}`,
    '',
    'Packages',
    ...found.packages.map(describePackage),
    '',
    'Modules, in the order of trial',
    ...(modules.length > 0 ? modules : ['  none']),
    ...(found.notPossible === undefined ? [] : [`  They could not be tried: ${found.notPossible}`]),
    '',
    `Chosen: ${found.chosen.join(' and ') || 'nothing'}. ${found.because}`,
  ].join('\n');
}

function describePackage({ name, version, directory, problem, install, needed }: PackageReport): string {
  if (problem === undefined) return `  ${name} ${version}: ${directory}`;
  return `  ${name}: ${problem}${needed ? '' : ' (and not needed)'}; ${install}`;
}

function describeModule({ name, verdict, reason, devices }: ModuleReport): string[] {
  const head = `  ${name}: ${verdict}${reason === undefined ? '' : `, ${reason}`}`;
  return [head, ...devices.map((device) => `    ${device.name}: ${device.description}, ${memory(device)}`)];
}

function memory({ memoryFree, memoryTotal }: ModuleReport['devices'][number]): string {
  return memoryTotal === 0 ? 'memory unknown' : `${gib(memoryFree)} of ${gib(memoryTotal)} free`;
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}
