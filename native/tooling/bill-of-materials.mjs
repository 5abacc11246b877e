// Bills of materials of the npm packages: `sbom.cdx.json` in CycloneDX 1.5, and the licences of the bundled npm packages.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from '../../vendor/progress.mjs';
import { runNpm } from './npm.mjs';

const developmentProperty = 'cdx:npm:package:development';

/**
 * The bill of the main package: its dependencies from the lock file, and the bundled npm packages. `bundled`: the names of
 * the latter.
 */
export function mainBill(root, { name, version, description }, bundled) {
  const bill = completeBill(root);
  // npm names the package after the folder of the checkout.
  Object.assign(bill.metadata.component, { name, version, description });
  // `npm sbom --omit=dev` also omits dependencies that a development package needs too.
  const components = bill.components.filter((each) => !isForDevelopment(each) || bundled.includes(each.name));
  const kept = new Set(components.map((each) => each['bom-ref'])).add(bill.metadata.component['bom-ref']);
  const dependencies = bill.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) }));
  return { ...bill, components: components.map(withoutDevelopment), dependencies };
}

function completeBill(root) {
  const result = runNpm(root, ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']);
  if (result.status !== 0) throw new SetupError(`npm sbom failed: ${result.error?.message ?? result.stderr}`);
  return JSON.parse(result.stdout);
}

function isForDevelopment({ properties }) {
  return properties.some((each) => each.name === developmentProperty);
}

function withoutDevelopment(component) {
  return { ...component, properties: component.properties.filter((each) => each.name !== developmentProperty) };
}

/** The bill of a package with binaries. `components`: of its manifest, see `readComponents` in notices.mjs. */
export function nativeBill({ name, version, description, license }, components, llama) {
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: new Date().toISOString(),
      component: {
        'bom-ref': name,
        type: 'library',
        name,
        version,
        description,
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
        licenses: [{ expression: license }],
      },
    },
    components: components.map((component) => ({
      'bom-ref': component.name,
      type: 'library',
      name: component.name,
      ...(component.name === 'llama.cpp and ggml' && {
        version: llama.release,
        purl: `pkg:github/ggml-org/llama.cpp@${llama.commit}`,
      }),
      licenses: [component.license ? { expression: component.license } : { license: { name: 'Public domain' } }],
    })),
  };
}

/** The licences of the npm packages in the scripts of the desktop app and in the bundled programs. */
export function bundledNotices(root, bundled) {
  const sections = bundled.map((name) => {
    const folder = path.join(root, 'node_modules', name);
    const names = fs.readdirSync(folder);
    const licences = names.filter((file) => /^licen[cs]e(-|\.|$)/i.test(file));
    // abstract-logging states its licence in its readme.
    const files = licences.length > 0 ? licences : names.filter((file) => /^readme\.md$/i.test(file));
    if (files.length === 0) throw new SetupError(`${folder} contains no licence`);
    const texts = files.map((file) => fs.readFileSync(path.join(folder, file), 'utf8').trim());
    return `${name}\n${'='.repeat(60)}\n\n${texts.join('\n\n')}\n`;
  });
  return `This package contains the following npm packages.\n\n${sections.join('\n')}`;
}
