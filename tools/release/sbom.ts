/** The list of what is inside, in CycloneDX: packages that have code in a bundle, as the lock file knows them, and the runtime. */
import { createHash } from 'node:crypto';
import { type ThirdParty, thirdParty } from '../bundle/third-parties.ts';
import { MUSL_VERSION, NODE_VERSION } from '../provider/node-runtime.ts';
import { packageVersion } from '../provider/platforms.ts';

/** `folders` are those of the bundled packages (`node_modules/zod`). The same contents give the same bytes: no time, no randomness. */
export async function sbom(folders: readonly string[]): Promise<string> {
  const packages = await Promise.all([...new Set(folders)].sort().map(thirdParty));
  const components = [
    ...packages.map(npmComponent),
    runtime('node', NODE_VERSION, `pkg:github/nodejs/node@v${NODE_VERSION}`, 'MIT'),
    runtime('musl', MUSL_VERSION, `pkg:deb/debian/musl@${MUSL_VERSION}`, 'MIT'),
  ];
  const version = packageVersion();
  const own = `pkg:npm/proxwright@${version}`;
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([own, components]))}`,
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'proxwright',
        version,
        purl: own,
        licenses: licenses('MIT'),
      },
    },
    components,
    dependencies: [{ ref: own, dependsOn: components.map((each) => each['bom-ref']) }],
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

function npmComponent({ name, version, license, integrity }: ThirdParty) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [algorithm = '', digest = ''] = integrity.split('-');
  const content = Buffer.from(digest, 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    hashes: [{ alg: algorithm.replace(/^sha/, 'SHA-'), content }],
    licenses: licenses(license),
  };
}

function runtime(name: string, version: string, purl: string, license: string) {
  return { type: 'application', 'bom-ref': purl, name, version, purl, licenses: licenses(license) };
}

/** An expression such as `(Apache-2.0 AND BSD-3-Clause)` is no identifier. */
function licenses(license: string) {
  return license.includes(' ') ? [{ expression: license.replace(/^\((.*)\)$/, '$1') }] : [{ license: { id: license } }];
}

/** A UUID of version 8, which may be made of anything. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
