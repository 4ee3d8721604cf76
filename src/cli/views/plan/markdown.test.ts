import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, ChangeKind, Plan } from '../../../kinds/change.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { COMMENT_LIMIT, planMarkdown, SMALLEST_COMMENT } from './markdown.ts';

const comment = (plan: Plan, limit?: number) => `${planMarkdown(plan, limit).join('\n')}\n`;
const bytes = (text: string) => Buffer.byteLength(text);

const difference = (path: string, before: unknown, after: unknown) =>
  ({ path, before, after, by: 'file', effect: 'live' }) as Change['differences'][number];

const web = (part: Partial<Change> = {}) => change({ address: address('vm.web'), kind: 'update', ...part });

/** The text outside of fences, which could be read as Markdown or HTML. */
function outsideFences(text: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const [, marks] = /^(`{3,})/.exec(line) ?? [];
    if (fence === undefined && marks !== undefined) fence = marks;
    else if (fence !== undefined && line === fence) fence = undefined;
    else if (fence === undefined) lines.push(line);
  }
  expect(fence).toBeUndefined();
  return lines.join('\n');
}

describe('a plan as a comment', () => {
  it('begins with a marker and a summary, and folds the details', () => {
    const plan = planOf([
      web({ differences: [difference('memory', '2GiB', '4GiB')], restarts: true }),
      change({ address: address('vm.db'), kind: 'create', name: 'db-1', vmid: 402 }),
    ]);
    expect(comment(plan)).toBe(`<!-- proxwright plan demo -->
### Plan for <code>demo</code>

**1 to create, 1 to change, 0 to delete.**

**1 VM is restarted:** <code>vm.web</code>

| | Address | Name | VM | Node | Changes |
| --- | --- | --- | --- | --- | --- |
| change | <code>vm.web</code> | <code>web-1</code> | 401 | <code>pve1</code> | <code>memory</code>, restarts |
| create | <code>vm.db</code> | <code>db-1</code> | 402 | <code>pve1</code> |  |

<details><summary>1 to change</summary>

\`\`\`text
~ vm.web  change web-1 (VM 401 on pve1)
    The file changed.
    memory  2GiB → 4GiB  [changed in the file, live]
    the VM is restarted
\`\`\`

</details>

<details><summary>1 to create</summary>

\`\`\`text
+ vm.db  create db-1 (VM 402 on pve1)
    The file changed.
\`\`\`

</details>
`);
  });

  it('is the same for the same plan, whenever it is made', () => {
    const plan = planOf([web()]);
    expect(comment({ ...plan, createdAt: '2031-01-01T00:00:00.000Z' })).toBe(comment(plan));
  });

  it('is short if nothing changes', () => {
    expect(comment(planOf([change({ address: address('vm.web'), kind: 'none' })]))).toBe(
      '<!-- proxwright plan demo -->\n### Plan for <code>demo</code>\n\n**No changes.**\n',
    );
  });

  it('shows destroyed data above anything that must be unfolded', () => {
    const destroys = [{ slot: 'scsi1', volume: 'tank:vm-401-disk-1', sizeBytes: 1024 ** 3 }];
    const [summary = ''] = comment(planOf([web({ kind: 'replace', destroys })])).split('<details>');
    expect(summary).toContain('**1 volume is destroyed:** <code>vm.web</code> <code>scsi1&#58; tank&#58;vm-401-disk-1');
  });

  it('contains the warnings of the plan', () => {
    const warning = {
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: 'Needs Sys.Audit.',
    } as const;
    const text = comment({ ...planOf([web()]), warnings: [warning] });
    expect(text).toContain('<details><summary>1 warning</summary>');
    expect(text).toContain('Needs Sys.Audit.');
  });
});

describe('foreign text in a comment', () => {
  const HOSTILE = [
    '</details><script>alert(1)</script>',
    '`` ` ``` ````',
    'a | b \\| c',
    '@acme/ops #12 !7 https://evil.example ![x](https://evil.example/x.png)',
    '<!-- proxwright plan other -->',
    '**bold** _it_ ~~no~~ &lt;b&gt;',
    '\u202egnp.exe \u001b[2J\r\n# heading\n```\n</details>',
  ];

  it.each(HOSTILE)('stays text: %j', (name) => {
    const destroys = [{ slot: 'scsi0', volume: name, sizeBytes: undefined }];
    const plan = planOf([
      web({
        name,
        node: name,
        reason: name,
        notes: [name],
        differences: [difference(name, name, `${name}!`)],
        destroys,
      }),
      change({ address: address('vm.db'), kind: 'keep', name, restartPending: [name] }),
    ]);
    const text = comment(plan);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    const rest = outsideFences(text)
      .replace('<!-- proxwright plan demo -->', '')
      .replaceAll(/<\/?(code|details|summary)>/g, '');
    expect(rest.replaceAll(/&#\d+;/g, '')).not.toMatch(/[<>@`[\]!~_\\]|:\/\//);
    for (const row of rest.split('\n').filter((line) => line.startsWith('|'))) expect(row.split('|')).toHaveLength(8);
    const outside = outsideFences(text);
    expect(outside.match(/<details>/g)?.length).toBe(outside.match(/^<\/details>$/gm)?.length);
  });
});

describe('a plan that is too long for a comment', () => {
  const many = (count: number, kind: ChangeKind = 'create') =>
    planOf(
      Array.from({ length: count }, (_, index) =>
        change({
          address: address(`vm.worker[${index + 1}]`),
          kind,
          name: `worker-${index + 1}`,
          vmid: 1000 + index,
          differences: [difference('description', null, `${index} ${'x'.repeat(index % 700)}`)],
        }),
      ),
    );

  it('is shortened to what GitHub accepts, and says what is left out', () => {
    const text = comment(many(2_000));
    expect(bytes(text)).toBeLessThanOrEqual(COMMENT_LIMIT);
    expect(bytes(text)).toBeGreaterThan(COMMENT_LIMIT * 0.9);
    expect(text).toContain('**2000 to create, 0 to change, 0 to delete.**');
    const rows = text.split('\n').filter((line) => line.startsWith('| create')).length;
    expect(text).toMatch(
      new RegExp(
        `Shortened to fit a comment\\.\\*\\* Left out: ${2000 - rows} of 2000 changes, \\d+ lines of "2000 to create"`,
      ),
    );
  });

  it('is not shortened if it fits', () => {
    const text = comment(many(2_000), 5_000_000);
    expect(text).not.toContain('Shortened');
    expect(text).toContain('worker-2000');
  });

  it('keeps what is replaced or deleted, and leaves out what is created', () => {
    const gone = change({ address: address('vm.old'), kind: 'delete', name: 'old-1' });
    const text = comment({ ...many(2_000), changes: [...many(2_000).changes, gone] });
    expect(text).toContain('- vm.old  delete old-1');
  });

  it('never exceeds the limit, whatever the plan contains', () => {
    const kinds: ChangeKind[] = ['create', 'update', 'replace', 'delete', 'keep', 'none'];
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.constantFrom('`'.repeat(900), '<|@'.repeat(300)),
    );
    const anyChange = fc
      .record({
        kind: fc.constantFrom(...kinds),
        name: anyText,
        node: anyText,
        reason: anyText,
        restarts: fc.boolean(),
        restartPending: fc.array(anyText, { maxLength: 2 }),
        destroys: fc.array(
          anyText.map((volume) => ({ slot: 'scsi0', volume, sizeBytes: 5 })),
          { maxLength: 3 },
        ),
        differences: fc.array(
          anyText.map((text) => difference(text, text, text)),
          { maxLength: 3 },
        ),
      })
      .map((part) => change({ address: address('vm.web'), ...part }));
    fc.assert(
      fc.property(
        fc.array(anyChange, { maxLength: 60 }),
        fc.integer({ min: SMALLEST_COMMENT, max: 40_000 }),
        (all, limit) => {
          const text = comment(planOf(all), limit);
          expect(bytes(text)).toBeLessThanOrEqual(limit);
          outsideFences(text);
        },
      ),
      { numRuns: 25 },
    );
  });
});
