/** The committed code of the protocol's messages is what its declarations say. */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { generateProtocol } from '../../tools/protocol/generate.ts';
import { readProto } from '../../tools/protocol/proto-file.ts';

const generated = fileURLToPath(new URL('../../src/provider/protocol/generated', import.meta.url));

describe('the generated protocol code', () => {
  it('is up to date: npm run proto would change nothing', async () => {
    const files = await generateProtocol();
    expect(files.map(({ path }) => basename(path)).sort()).toEqual((await readdir(generated)).sort());
    for (const { path, text } of files) {
      expect(await readFile(join(generated, basename(path)), 'utf8'), basename(path)).toBe(text);
    }
  });
});

describe('the reader of .proto files', () => {
  const HEAD = 'syntax = "proto3";\npackage p;\n';

  it('finds a type by the innermost declaration around its use', () => {
    const { messageType } = readProto(
      'a.proto',
      `${HEAD}message A { message B {} B inner = 1; C outer = 2; }\nmessage B {}\nenum C { X = 0; }`,
    );
    expect(messageType[0]?.field.map(({ typeName }) => typeName)).toEqual(['.p.A.B', '.p.C']);
  });

  it.each([
    ['option java_package = "x";', 'a.proto: expected message, enum or service, found option in line 3.'],
    ['message A { optional string b = 1; }', 'a.proto: expected =, found b in line 3.'],
    ['message A { string b = 1 [deprecated = true]; }', 'a.proto: cannot read line 3: [deprecated = true]; }'],
    ['message A { B b = 1; }', 'a.proto: B, used in p.A, is not declared.'],
    ['message A {', 'a.proto: expected a name, found the end of the file.'],
  ])('refuses what it does not know: %s', (text, message) => {
    expect(() => readProto('a.proto', HEAD + text)).toThrow(new Error(message));
  });
});
