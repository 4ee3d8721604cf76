import { describe, expect, it } from 'vitest';
import { problemsOf, resolveText, stackOf } from '../testing/resolving.ts';

const URL = 'https://images.example.org/debian-13.qcow2';

/** A stack with one image, whose fields are on line 4, and a VM that uses it. */
function imageStack(fields: string, disk = '{ image: debian, storage: tank }', node = 'pve1'): string {
  return `version: 1
stack: demo
images:
  debian: { ${fields} }
vms:
  web:
    name: web
    node: ${node}
    power: stopped
    disks: { scsi0: ${disk} }
`;
}

const importFields = `url: "${URL}", content: import, storage: local`;

describe('an image', () => {
  it('becomes the volume of the disk that names it, at the position of the name', () => {
    const { images, vms } = stackOf(imageStack(importFields));
    expect(images).toEqual([
      {
        name: 'debian',
        address: 'image.debian',
        fields: { url: URL, content: 'import', storage: 'local' },
        file: 'debian-13.qcow2',
        nodes: ['pve1'],
        positions: expect.objectContaining({
          '': { file: 'stack.yaml', line: 4, column: 3 },
          url: { file: 'stack.yaml', line: 4, column: 18 },
        }),
      },
    ]);
    expect(vms[0]?.fields.disks).toEqual({ scsi0: { import_from: 'local:import/debian-13.qcow2', storage: 'tank' } });
    expect(vms[0]?.positions['disks.scsi0.import_from']).toEqual({ file: 'stack.yaml', line: 10, column: 30 });
  });

  it('becomes the CD of a drive if its content is iso', () => {
    const text = imageStack('url: "https://x.org/a.iso.gz", content: iso, storage: local', '{ image: debian }');
    const [vm] = stackOf(text).vms;
    expect(vm?.fields.disks).toEqual({ scsi0: { iso: 'local:iso/a.iso' } });
  });

  it('is needed on the nodes it names, then on those of its users, each once', () => {
    const text = `version: 1
stack: demo
images: { a: { path: ./a.qcow2, content: import, storage: local, nodes: [n3, n1, n3] } }
templates:
  base: { nodes: [n2, n1], disks: { scsi0: { image: a, storage: tank } } }
defaults: { power: stopped, disks: { scsi0: { image: a, storage: tank } } }
vms:
  x: { each: [n4, n2], name: "x-\${number}", node: "\${each}" }
`;
    expect(stackOf(text).images.map(({ nodes }) => nodes)).toEqual([['n3', 'n1', 'n2', 'n4']]);
  });

  it('accepts references, also as its name in a disk', () => {
    const text = `version: 1
stack: demo
variables: { v: { type: string, default: "13.1" }, image: { type: string, default: debian } }
images: { debian: { url: "https://x.org/debian-\${var.v}.qcow2", content: import, storage: local } }
vms: { web: { name: web, node: a, power: stopped, disks: { scsi0: { image: "\${var.image}", storage: tank } } } }
`;
    expect(stackOf(text).vms[0]?.fields.disks?.scsi0?.import_from).toBe('local:import/debian-13.1.qcow2');
  });

  it('of a default is replaced by the setting of a group', () => {
    const text = (own: string) => `version: 1
stack: demo
images: { a: { path: ./a.qcow2, content: import, storage: local, nodes: [n1] } }
defaults: { node: n1, power: stopped, disks: { scsi0: { image: a, storage: tank } } }
vms: { web: { name: web, disks: { scsi0: { ${own} } } } }
`;
    expect(stackOf(text('import_from: "local:import/b.qcow2"')).vms[0]?.fields.disks?.scsi0).toEqual({
      import_from: 'local:import/b.qcow2',
      storage: 'tank',
    });
    expect(stackOf(text('image: null, size: 1GiB')).vms[0]?.fields.disks?.scsi0).toEqual({
      storage: 'tank',
      size: 1024 ** 3,
    });
  });

  it('is also used by a disk that names its volume, or a file in its archive', () => {
    const disk = '{ import_from: "local:import/debian-13.qcow2", storage: tank }';
    expect(stackOf(imageStack(importFields, disk)).images[0]?.nodes).toEqual(['pve1']);
    const inside = '{ import_from: "local:import/a.ova/disk.vmdk", storage: tank }';
    const archive = 'path: ./a.ova, content: import, storage: local';
    expect(stackOf(imageStack(archive, inside)).images[0]?.nodes).toEqual(['pve1']);
  });

  it('may belong to a group without members; then no node needs it', () => {
    const text = imageStack(importFields).replace('    name: web', '    count: 0\n    name: web');
    expect(stackOf(text).images.map(({ nodes }) => nodes)).toEqual([[]]);
  });

  it('may be used by its nodes alone', () => {
    const text = 'version: 1\nstack: s\nimages: { a: { path: a.iso, content: iso, storage: local, nodes: [n1] } }\n';
    expect(stackOf(text).images.map(({ nodes }) => nodes)).toEqual([['n1']]);
  });
});

describe('the name of the file in the storage', () => {
  it.each([
    ['the last part of the url', 'url: "https://x.org/a/b.raw?token=1#x", content: import', 'b.raw'],
    ['the last part of the path', "path: '../images/b.vmdk', content: import", 'b.vmdk'],
    ['without the extension of its compression', 'path: ./talos.raw.xz, content: import', 'talos.raw'],
    [
      'also of a url that Proxwright downloads',
      'url: "https://x.org/t.raw.zst", via: upload, content: import',
      't.raw',
    ],
    [
      'with special characters replaced as Proxmox does',
      'url: "https://x.org/a%20b+c.qcow2", content: import',
      'a_b_c.qcow2',
    ],
    ['what the file says', 'url: "https://x.org/noble.img", file: noble.qcow2, content: import', 'noble.qcow2'],
    [
      'of an uncompressed file that looks compressed',
      'path: ./a.gz, file: a.raw, compression: none, content: import',
      'a.raw',
    ],
  ])('is %s', (_, fields, file) => {
    expect(stackOf(imageStack(`${fields}, storage: local`)).images[0]?.file).toBe(file);
  });
});

describe('the rules for images', () => {
  /** Fields of the image, and the expected problem. */
  it.each([
    [
      'no source',
      'content: import, storage: local',
      '4:3 error BAD_VALUE: The image "debian" has no source. | Give it a url to download, or the path of a local file.',
    ],
    [
      'two sources',
      `${importFields}, path: ./x.qcow2`,
      '4:103 error BAD_VALUE: "url" and "path" cannot be used together: an image has one source.',
    ],
    [
      '"via" for a local file',
      'path: ./x.qcow2, via: upload, content: import, storage: local',
      '4:35 error BAD_VALUE: "via" says which side downloads a url. Proxwright always uploads a local file. | Remove "via".',
    ],
    [
      'a cloud image called .img',
      'url: "https://x.org/noble-server-cloudimg-amd64.img", content: import, storage: local',
      '4:18 error BAD_VALUE: The file in the storage would be called "noble-server-cloudimg-amd64.img"; import content must end in .qcow2, .raw, .vmdk or .ova. | Write file: noble-server-cloudimg-amd64.qcow2 if it is a qcow2 file, as cloud images called .img are.',
    ],
    [
      'a name of the wrong kind',
      `${importFields}, file: debian.iso`,
      '4:103 error BAD_VALUE: The file in the storage would be called "debian.iso"; import content must end in .qcow2, .raw, .vmdk or .ova. | Write content: iso, or give it another name: file: NAME.qcow2.',
    ],
    [
      'an ending in capitals, which Proxmox does not take for a disk image',
      'path: ./A.QCOW2, content: import, storage: local',
      '4:19 error BAD_VALUE: The file in the storage would be called "A.QCOW2"; import content must end in .qcow2, .raw, .vmdk or .ova. | Write file: A.qcow2.',
    ],
    [
      'a url without a file name',
      'url: "https://x.org/", content: import, storage: local',
      '4:18 error BAD_VALUE: Cannot derive a file name from this URL. | Write file: NAME.qcow2.',
    ],
    [
      'a compressed disk image that Proxmox would download',
      'url: "https://x.org/talos.raw.xz", content: import, storage: local',
      '4:18 error BAD_VALUE: The image is compressed (xz), and Proxmox decompresses only ISO content while it downloads. | Write via: upload. Proxwright then downloads, decompresses and uploads it.',
    ],
    [
      'a compression that the file names',
      `${importFields}, compression: zst`,
      '4:110 error BAD_VALUE: The image is compressed (zst), and Proxmox decompresses only ISO content while it downloads. | Write via: upload. Proxwright then downloads, decompresses and uploads it.',
    ],
    [
      'a file name that is too long',
      `${importFields}, file: ${'a'.repeat(250)}.qcow2`,
      '4:103 error BAD_VALUE: The name of the file in the storage would have 256 characters; at most 255 are possible.',
    ],
    [
      'no address at all',
      'url: somewhere, content: import, storage: local',
      '4:18 error BAD_VALUE: "url" must be an address that begins with https:// or http://; it is "somewhere".',
    ],
    [
      'an unverifiable download by Proxwright',
      'url: "http://x.org/a.qcow2", via: upload, content: import, storage: local',
      '4:18 error BAD_VALUE: The URL is not encrypted and there is no checksum, so the download cannot be verified. | Use https, or write sha256: ….',
    ],
    [
      'a password in the address',
      'url: "https://me:hunter2@x.org/a.qcow2", content: import, storage: local',
      '4:18 error BAD_VALUE: The URL contains a user or a password, which plans and the node’s task log would show. | Download the file yourself and write path: ./FILE.',
    ],
    [
      'a malformed checksum',
      `${importFields}, sha256: abc`,
      '4:105 error BAD_VALUE: "sha256" is "abc": a SHA-256 sum is 64',
    ],
    [
      'a kind of content that does not exist',
      `url: "${URL}", content: imports, storage: local`,
      '4:73 error BAD_VALUE: "content" must be one of import, iso; it is "imports". | Did you mean "import"?',
    ],
    [
      'no storage',
      `url: "${URL}", content: import`,
      '4:3 error BAD_VALUE: "storage" is missing. | Write storage: … here.',
    ],
    [
      'an unknown field',
      `${importFields}, sha: x`,
      '4:97 error UNKNOWN_FIELD: "sha" is not a field of an image. | Known here: url, path, via, file,',
    ],
  ])('%s', (_, fields, expected) => {
    expect(problemsOf(imageStack(fields))).toEqual([expect.stringContaining(expected)]);
  });

  it.each([
    ['two checksums', `${importFields}, sha256: ${'a'.repeat(64)}, sha512: ${'b'.repeat(128)}`],
    [
      'a compressed disk image that Proxwright downloads',
      'url: "https://x.org/t.raw.xz", via: upload, content: import, storage: local',
    ],
    ['a compressed local file in any format', 'path: ./talos.raw.lzo, content: import, storage: local'],
    ['an image without a checksum over plain HTTP', 'url: "http://x.org/t.raw", content: import, storage: local'],
  ])('accept %s', (_, fields) => {
    expect(problemsOf(imageStack(fields))).toEqual([]);
  });

  it.each([
    ['gz', null],
    ['lzo', null],
    [
      'xz',
      '4:18 error BAD_VALUE: The image is compressed with xz, which Proxmox cannot decompress. | Write via: upload.',
    ],
  ])('know whether Proxmox unpacks an ISO that is packed with %s', (ending, expected) => {
    const fields = `url: "https://x.org/a.iso.${ending}", content: iso, storage: local`;
    expect(problemsOf(imageStack(fields, '{ image: debian }'))).toEqual(
      expected === null ? [] : [expect.stringContaining(expected)],
    );
  });

  it('report everything that is wrong with an image at once', () => {
    expect(problemsOf(imageStack('path: ./a.iso, via: upload, content: import, storage: local, sha256: x'))).toEqual([
      expect.stringContaining('4:19 error BAD_VALUE: The file in the storage would be called "a.iso"'),
      expect.stringContaining('4:33 error BAD_VALUE: "via" says which side downloads a url'),
      expect.stringContaining('4:82 error BAD_VALUE: "sha256" is "x"'),
    ]);
  });

  it('reject two images with the same volume', () => {
    const text = imageStack(importFields).replace(
      'vms:',
      `  other: { url: "https://y.org/debian-13.qcow2", content: import, storage: local, nodes: [a] }
  third: { path: ./x.raw, file: debian-13.qcow2, content: import, storage: local, nodes: [a] }
  elsewhere: { path: ./debian-13.qcow2, content: import, storage: nfs, nodes: [a] }
vms:`,
    );
    expect(problemsOf(text)).toEqual([
      '5:3 error BAD_VALUE: The images "debian" and "other" would both be local:import/debian-13.qcow2. | Give each a different file.',
      '6:33 error BAD_VALUE: The images "debian" and "third" would both be local:import/debian-13.qcow2. | Give each a different file.',
    ]);
  });

  it('reject an image that nothing uses', () => {
    expect(problemsOf(imageStack(importFields, '{ storage: tank, size: 1GiB }'))).toEqual([
      '4:3 error BAD_VALUE: No VM and no template uses the image "debian", so Proxwright does not know which node needs it. | Use it in a disk (image: debian), or name the nodes that get it: nodes: [pve1].',
    ]);
  });

  it('reject names that cannot be part of an address', () => {
    expect(problemsOf('version: 1\nstack: s\nimages:\n  -x: {}\n')).toEqual([
      '4:3 error BAD_VALUE: "-x" cannot name an image: an image name has letters and digits, and after the first character also _ . and -.',
    ]);
    expect(problemsOf('version: 1\nstack: s\nimages: [a]\n')).toEqual([
      '3:9 error BAD_VALUE: "images" must be a map from image names to fields; it is a list.',
    ]);
    expect(problemsOf('version: 1\nstack: s\nimages: { a: b }\n')).toEqual([
      '3:14 error BAD_VALUE: The image "a" must be a map of fields; it is "b".',
    ]);
  });
});

describe('a disk that names an image', () => {
  it.each([
    [
      'that does not exist',
      '{ image: debain, storage: tank }',
      '10:30 error MISSING_REFERENCE: There is no image "debain" under "images". | Did you mean "debian"?',
    ],
    [
      'and a volume',
      '{ image: debian, import_from: "local:import/x.qcow2", storage: tank }',
      '10:23 error BAD_VALUE: "image" and "import_from" cannot be used together: a disk has one source.',
    ],
    [
      'and an ISO',
      '{ image: debian, iso: "local:iso/x.iso" }',
      '10:23 error BAD_VALUE: "image" and "iso" cannot be used together: a disk has one source.',
    ],
    [
      'with a value that is not a name',
      '{ image: [debian], storage: tank }',
      '10:30 error BAD_VALUE: "disks.scsi0.image" must be the name of an image under "images"; it is a list.',
    ],
    ['and has no storage', '{ image: debian }', '10:21 error BAD_VALUE: "scsi0" is imported, but "storage" is not set'],
    [
      'under a mistyped key',
      '{ imge: debian, storage: tank }',
      '10:23 error UNKNOWN_FIELD: "imge" is not a field of "disks.scsi0". | Did you mean "image"?',
    ],
  ])('%s', (_, disk, expected) => {
    const text = imageStack(importFields, disk);
    expect(problemsOf(text)).toEqual([expect.stringContaining(expected)]);
  });

  it('says what to do if there are no images at all', () => {
    const text =
      'version: 1\nstack: s\nvms: { a: { name: a, node: n, clone: { template: t }, disks: { scsi1: { image: x, storage: s } } } }\n';
    expect(problemsOf(text)).toEqual([
      '3:80 error MISSING_REFERENCE: There is no image "x" under "images". | Add it there, or name a file that is already in a storage: import_from: "local:import/NAME.qcow2".',
    ]);
  });

  it('is not reported if the image itself is wrong', () => {
    expect(problemsOf(imageStack(`url: "${URL}", content: import, storage: 5`))).toEqual([
      expect.stringContaining('4:90 error BAD_VALUE: "storage" must be text; it is 5.'),
    ]);
  });

  it('cannot be an archive', () => {
    expect(problemsOf(imageStack('path: ./a.ova, content: import, storage: local'))).toEqual([
      '10:30 error BAD_VALUE: The image "debian" is an archive of several files (.ova), not one disk. | Name the disk inside it: import_from: "local:import/a.ova/NAME.vmdk".',
    ]);
  });

  it('is reported under the address of its VM, and an image under its own', () => {
    const text = imageStack(`${importFields}, nodes: [a], sha256: x`, '{ image: nothing, storage: tank }');
    expect(resolveText(text).diagnostics.map(({ where }) => where?.address)).toEqual(['image.debian', 'vm.web']);
  });
});
