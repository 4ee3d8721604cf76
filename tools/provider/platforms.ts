/** What a package is called: the address of the provider, its version, and the machines it is made for. */
import { readFileSync } from 'node:fs';

const PACKAGE = new URL('../../package.json', import.meta.url);

export const TYPE = 'proxwright';
export const ADDRESS = `proxwright.dev/proxwright/${TYPE}`;
/** Minor versions of the protocol only add to it and are never negotiated. */
export const PROTOCOLS = ['6.0'] as const;

export const PLATFORMS = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64', 'windows_amd64'] as const;
export type Platform = (typeof PLATFORMS)[number];

export function isPlatform(name: string): name is Platform {
  return PLATFORMS.some((platform) => platform === name);
}

/** Of the machine this runs on; undefined where no package is made for it. */
export function ownPlatform(): Platform | undefined {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `${os}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return isPlatform(name) ? name : undefined;
}

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  return version;
}

/** Hosts run the first file in a package whose name begins like this. */
export function programName(version: string, suffix = ''): string {
  return `terraform-provider-${TYPE}_v${version}${suffix}`;
}

export function archiveName(version: string, platform: Platform): string {
  return `terraform-provider-${TYPE}_${version}_${platform}.zip`;
}
