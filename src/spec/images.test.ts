import { describe, expect, it } from 'vitest';
import { problemsOf, resolveText, stackOf } from './testing/resolving.ts';

const URL = 'https://images.example.org/debian-13.qcow2';

/** A stack with one image, whose fields stand on line 4, and with a VM that uses it. */
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
  it('becomes the volume of the disk that names it, at the place of the name', () => {
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

  it('becomes the CD of a drive where its content is iso', () => {
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

  it('takes references, and its name too may be one', () => {
    const text = `version: 1
stack: demo
variables: { v: { type: string, default: "13.1" }, image: { type: string, default: debian } }
images: { debian: { url: "https://x.org/debian-\${var.v}.qcow2", content: import, storage: local } }
vms: { web: { name: web, node: a, power: stopped, disks: { scsi0: { image: "\${var.image}", storage: tank } } } }
`;
    expect(stackOf(text).vms[0]?.fields.disks?.scsi0?.import_from).toBe('local:import/debian-13.1.qcow2');
  });

  it('of a default gives way to what a group says instead', () => {
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

  it('is used as well by a disk that names its volume, or a file in its archive', () => {
    const disk = '{ import_from: "local:import/debian-13.qcow2", storage: tank }';
    expect(stackOf(imageStack(importFields, disk)).images[0]?.nodes).toEqual(['pve1']);
    const inside = '{ import_from: "local:import/a.ova/disk.vmdk", storage: tank }';
    const archive = 'path: ./a.ova, content: import, storage: local';
    expect(stackOf(imageStack(archive, inside)).images[0]?.nodes).toEqual(['pve1']);
  });

  it('may be there for a group that has no members at present; no node needs it then', () => {
    const text = imageStack(importFields).replace('    name: web', '    count: 0\n    name: web');
    expect(stackOf(text).images.map(({ nodes }) => nodes)).toEqual([[]]);
  });

  it('may be named for its nodes alone', () => {
    const text = 'version: 1\nstack: s\nimages: { a: { path: a.iso, content: iso, storage: local, nodes: [n1] } }\n';
    expect(stackOf(text).images.map(({ nodes }) => nodes)).toEqual([['n1']]);
  });
});

describe('the name of the file in the storage', () => {
  it.each([
    ['the last part of the url', 'url: "https://x.org/a/b.raw?token=1#x", content: import', 'b.raw'],
    ['the last part of the path', "path: '../images/b.vmdk', content: import", 'b.vmdk'],
    ['without the ending of its compression', 'path: ./talos.raw.xz, content: import', 'talos.raw'],
    ['also of a url that we fetch', 'url: "https://x.org/t.raw.zst", via: upload, content: import', 't.raw'],
    ['with what Proxmox makes of odd characters', 'url: "https://x.org/a%20b+c.qcow2", content: import', 'a_b_c.qcow2'],
    ['what the file says', 'url: "https://x.org/noble.img", file: noble.qcow2, content: import', 'noble.qcow2'],
    ['of an unpacked file that looks packed', 'path: ./a.gz, file: a.raw, compression: none, content: import', 'a.raw'],
  ])('is %s', (_, fields, file) => {
    expect(stackOf(imageStack(`${fields}, storage: local`)).images[0]?.file).toBe(file);
  });
});

describe('the rules for images', () => {
  /** Fields of the image, and what must be said of them. */
  it.each([
    [
      'no source',
      'content: import, storage: local',
      '4:3 error BAD_VALUE: The image "debian" does not say where it comes from. | Give it a url to fetch, or the path of a local file.',
    ],
    [
      'two sources',
      `${importFields}, path: ./x.qcow2`,
      '4:103 error BAD_VALUE: "url" and "path" exclude each other: an image comes from one place.',
    ],
    [
      'somebody who fetches a local file',
      'path: ./x.qcow2, via: upload, content: import, storage: local',
      '4:35 error BAD_VALUE: "via" says who fetches a url; a local file is always sent by Proxwright. | Take "via" out.',
    ],
    [
      'a cloud image called .img',
      'url: "https://x.org/noble-server-cloudimg-amd64.img", content: import, storage: local',
      '4:18 error BAD_VALUE: In the storage the file would be called "noble-server-cloudimg-amd64.img"; import content must end in .qcow2, .raw, .vmdk or .ova. | Write file: noble-server-cloudimg-amd64.qcow2 if it is a qcow2 file, as cloud images called .img are.',
    ],
    [
      'a name of the wrong kind',
      `${importFields}, file: debian.iso`,
      '4:103 error BAD_VALUE: In the storage the file would be called "debian.iso"; import content must end in .qcow2, .raw, .vmdk or .ova. | Say content: iso, or give it another name: file: NAME.qcow2.',
    ],
    [
      'an ending in capitals, which Proxmox does not take for a disk image',
      'path: ./A.QCOW2, content: import, storage: local',
      '4:19 error BAD_VALUE: In the storage the file would be called "A.QCOW2"; import content must end in .qcow2, .raw, .vmdk or .ova. | Write file: A.qcow2.',
    ],
    [
      'a url that ends in no name',
      'url: "https://x.org/", content: import, storage: local',
      '4:18 error BAD_VALUE: This gives the file in the storage no name. | Write file: NAME.qcow2.',
    ],
    [
      'a packed disk image that Proxmox would fetch',
      'url: "https://x.org/talos.raw.xz", content: import, storage: local',
      '4:18 error BAD_VALUE: The image is packed (xz), and Proxmox unpacks only ISO content while it downloads. | Write via: upload; Proxwright then fetches and unpacks it, and sends what comes out.',
    ],
    [
      'a packing that the file names',
      `${importFields}, compression: zst`,
      '4:110 error BAD_VALUE: The image is packed (zst), and Proxmox unpacks only ISO content while it downloads. | Write via: upload; Proxwright then fetches and unpacks it, and sends what comes out.',
    ],
    [
      'a name that no file system takes',
      `${importFields}, file: ${'a'.repeat(250)}.qcow2`,
      '4:103 error BAD_VALUE: In the storage the file would have a name of 256 characters; more than 255 are not possible.',
    ],
    [
      'no address at all',
      'url: somewhere, content: import, storage: local',
      '4:18 error BAD_VALUE: "url" must be an address that begins with https:// or http://; it is "somewhere".',
    ],
    [
      'a download of ours that nobody could check',
      'url: "http://x.org/a.qcow2", via: upload, content: import, storage: local',
      '4:18 error BAD_VALUE: The address is not encrypted and no checksum is given, so nobody could tell whether the right file arrives. | Use https, or write sha256: ….',
    ],
    [
      'a password in the address',
      'url: "https://me:hunter2@x.org/a.qcow2", content: import, storage: local',
      '4:18 error BAD_VALUE: The address holds a password, and everybody who sees a plan or the log of a node would see it. | Fetch the file yourself and name it: path: ./FILE.',
    ],
    [
      'a sum that is none',
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
    ['two sums', `${importFields}, sha256: ${'a'.repeat(64)}, sha512: ${'b'.repeat(128)}`],
    [
      'a packed disk image that we fetch',
      'url: "https://x.org/t.raw.xz", via: upload, content: import, storage: local',
    ],
    ['a packed local file, however it is packed', 'path: ./talos.raw.lzo, content: import, storage: local'],
    ['an image without a sum over plain HTTP', 'url: "http://x.org/t.raw", content: import, storage: local'],
  ])('have nothing against %s', (_, fields) => {
    expect(problemsOf(imageStack(fields))).toEqual([]);
  });

  it.each([
    ['gz', null],
    ['lzo', null],
    ['xz', '4:18 error BAD_VALUE: The image is packed with xz, which Proxmox cannot unpack. | Write via: upload;'],
  ])('know that Proxmox unpacks an ISO while it downloads, packed with %s or not', (ending, expected) => {
    const fields = `url: "https://x.org/a.iso.${ending}", content: iso, storage: local`;
    expect(problemsOf(imageStack(fields, '{ image: debian }'))).toEqual(
      expected === null ? [] : [expect.stringContaining(expected)],
    );
  });

  it('tell everything that is wrong with an image at once', () => {
    expect(problemsOf(imageStack('path: ./a.iso, via: upload, content: import, storage: local, sha256: x'))).toEqual([
      expect.stringContaining('4:19 error BAD_VALUE: In the storage the file would be called "a.iso"'),
      expect.stringContaining('4:33 error BAD_VALUE: "via" says who fetches a url'),
      expect.stringContaining('4:82 error BAD_VALUE: "sha256" is "x"'),
    ]);
  });

  it('refuse two images in one place', () => {
    const text = imageStack(importFields).replace(
      'vms:',
      `  other: { url: "https://y.org/debian-13.qcow2", content: import, storage: local, nodes: [a] }
  third: { path: ./x.raw, file: debian-13.qcow2, content: import, storage: local, nodes: [a] }
  elsewhere: { path: ./debian-13.qcow2, content: import, storage: nfs, nodes: [a] }
vms:`,
    );
    expect(problemsOf(text)).toEqual([
      '5:3 error BAD_VALUE: The images "debian" and "other" would both be local:import/debian-13.qcow2. | Give each its own file.',
      '6:33 error BAD_VALUE: The images "debian" and "third" would both be local:import/debian-13.qcow2. | Give each its own file.',
    ]);
  });

  it('refuse an image that nobody needs', () => {
    expect(problemsOf(imageStack(importFields, '{ storage: tank, size: 1GiB }'))).toEqual([
      '4:3 error BAD_VALUE: No VM and no template uses the image "debian", so it is not known which node needs it. | Name it in a disk (image: debian), or say which nodes get it: nodes: [pve1].',
    ]);
  });

  it('refuse names that cannot be part of an address', () => {
    expect(problemsOf('version: 1\nstack: s\nimages:\n  -x: {}\n')).toEqual([
      '4:3 error BAD_VALUE: "-x" cannot name an image: the name of an image has letters, digits, and _ . - behind the first character.',
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
      '10:23 error BAD_VALUE: "image" and "import_from" exclude each other: a disk is made from one thing.',
    ],
    [
      'and an ISO',
      '{ image: debian, iso: "local:iso/x.iso" }',
      '10:23 error BAD_VALUE: "image" and "iso" exclude each other: a disk is made from one thing.',
    ],
    [
      'in words that are no name',
      '{ image: [debian], storage: tank }',
      '10:30 error BAD_VALUE: "disks.scsi0.image" must be the name of an image under "images"; it is a list.',
    ],
    [
      'and has no storage',
      '{ image: debian }',
      '10:21 error BAD_VALUE: "scsi0" is imported, but "storage" does not say',
    ],
    [
      'under a mistyped key',
      '{ imge: debian, storage: tank }',
      '10:23 error UNKNOWN_FIELD: "imge" is not a field of "disks.scsi0". | Did you mean "image"?',
    ],
  ])('%s', (_, disk, expected) => {
    const text = imageStack(importFields, disk);
    expect(problemsOf(text)).toEqual([expect.stringContaining(expected)]);
  });

  it('says what to do where there are no images at all', () => {
    const text =
      'version: 1\nstack: s\nvms: { a: { name: a, node: n, clone: { template: t }, disks: { scsi1: { image: x, storage: s } } } }\n';
    expect(problemsOf(text)).toEqual([
      '3:80 error MISSING_REFERENCE: There is no image "x" under "images". | Describe it there, or name a file that is in a storage already: import_from: "local:import/NAME.qcow2".',
    ]);
  });

  it('is not complained about where the image is what is wrong', () => {
    expect(problemsOf(imageStack(`url: "${URL}", content: import, storage: 5`))).toEqual([
      expect.stringContaining('4:90 error BAD_VALUE: "storage" must be text; it is 5.'),
    ]);
  });

  it('cannot be an archive', () => {
    expect(problemsOf(imageStack('path: ./a.ova, content: import, storage: local'))).toEqual([
      '10:30 error BAD_VALUE: The image "debian" is an archive of several files (.ova), so it is not one disk. | Name the disk inside it: import_from: "local:import/a.ova/NAME.vmdk".',
    ]);
  });

  it('has its complaint under the address of its VM, and an image under its own', () => {
    const text = imageStack(`${importFields}, nodes: [a], sha256: x`, '{ image: nothing, storage: tank }');
    expect(resolveText(text).diagnostics.map(({ where }) => where?.address)).toEqual(['image.debian', 'vm.web']);
  });
});
