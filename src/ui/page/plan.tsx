/** The plan: how many of what, and then each group of equal changes, field by field. */
import { useState } from 'preact/hooks';
import { shortRangesOf } from '../../base/values/groups.ts';
import { counted } from '../../base/values/units.ts';
import type { ChangeView, FieldView, PlanView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Fold, Scroll, Shown, Tally, value } from './parts.tsx';
import { type ChangeGroup, groupsOf } from './plan-groups.ts';

/** With more groups than this each is closed until you open it. */
const MOST_OPEN_GROUPS = 12;
/** With more members than this their table is closed until you open it. */
const MOST_OPEN_MEMBERS = 6;

export function Plan({ stack }: { stack: string }) {
  return <Shown asked={useView(stack, 'plan')}>{(plan) => <ShownPlan plan={plan} />}</Shown>;
}

function ShownPlan({ plan: { changes, steps, warnings, remarks } }: { plan: PlanView }) {
  const [words, setWords] = useState('');
  const some = changes.filter(({ kind }) => kind !== 'none');
  const shown = some.filter((change) => matches(change, words));
  const groups = groupsOf(shown);
  return (
    <>
      <p class="lead">
        {some.length === 0
          ? `No changes: ${changes.length} of ${changes.length} match the file.`
          : `${some.length} of ${changes.length} differ from the file, ${counted(steps, 'step')}.`}
      </p>
      <Tally label="Changes by kind" counts={talliesOf(changes)} />
      {warnings.map((text) => (
        <p key={text} class="warning">
          {text}
        </p>
      ))}
      {some.length > MOST_OPEN_GROUPS && (
        <p>
          <label class="find">
            Find <input type="search" value={words} onInput={({ currentTarget }) => setWords(currentTarget.value)} />
          </label>{' '}
          <span class="quiet" aria-live="polite">
            {words !== '' && `${shown.length} of ${some.length}`}
          </span>
        </p>
      )}
      {groups.map((group) => (
        <Group
          key={`${group.title} ${group.members[0]?.address}`}
          group={group}
          isOpen={groups.length <= MOST_OPEN_GROUPS}
        />
      ))}
      {remarks.length > 0 && (
        <section class="card" aria-labelledby="remarks">
          <h2 id="remarks">Notes</h2>
          {remarks.map((line) => (
            <p key={line} class="quiet tight">
              {line}
            </p>
          ))}
        </section>
      )}
    </>
  );
}

const TALLIES = [
  ['to create', 'good', ['create', 'complete', 'supersede']],
  ['to change', 'warn', ['update']],
  ['to replace', 'bad', ['replace']],
  ['to delete', 'bad', ['delete', 'forget']],
  ['unchanged', 'quiet', ['none', 'keep']],
] as const;

function talliesOf(changes: readonly ChangeView[]) {
  return TALLIES.map(([words, tone, kinds]) => ({
    words,
    tone,
    count: changes.filter(({ kind }) => kinds.some((each) => each === kind)).length,
  }));
}

function matches({ address, name, node, vmid }: ChangeView, words: string): boolean {
  const text = `${address} ${name} ${node} ${vmid ?? ''}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Group({ group, isOpen }: { group: ChangeGroup; isOpen: boolean }) {
  const { title, kind, verb, members, reason, notes, fields } = group;
  const [first] = members;
  const isLone = members.length === 1;
  const lost = members.flatMap(({ name, destroys }) => destroys.map((volume) => `${name}: ${volume}`));
  return (
    <Fold
      kind="card"
      isOpen={isOpen}
      title={
        <>
          <span class={`badge ${kind}`}>{verb}</span> <strong>{title}</strong>{' '}
          <span class="quiet">{isLone && first ? placeOf(first) : describeMembers(members)}</span>
        </>
      }
    >
      <p class="quiet">{reason}</p>
      {lost.map((volume) => (
        <p key={volume} class="danger">
          destroys {volume}
        </p>
      ))}
      {notes.map((note) => (
        <p key={note} class="quiet tight">
          {note}
        </p>
      ))}
      {fields.length > 0 && <Fields label={`Fields of ${title}`} fields={fields} isNew={kind === 'create'} />}
      {!isLone && <Members group={group} />}
    </Fold>
  );
}

const placeOf = ({ name, node, vmid }: ChangeView) => `${name} on ${node}${vmid === undefined ? '' : `, VM ${vmid}`}`;

/** `60 VMs, worker-1 to worker-60 on pve1, pve2, 106–165`. */
function describeMembers(members: readonly ChangeView[]): string {
  const nodes = [...new Set(members.map(({ node }) => node))];
  const ids = shortRangesOf(members.flatMap(({ vmid }) => vmid ?? []));
  const ends = `${members[0]?.name} to ${members.at(-1)?.name}`;
  return `${members.length}: ${ends} on ${nodes.length > 4 ? `${nodes.length} nodes` : nodes.join(', ')}${ids === '' ? '' : `, VM ${ids}`}`;
}

function Members({ group: { title, members, columns } }: { group: ChangeGroup }) {
  return (
    <Fold kind="members" isOpen={members.length <= MOST_OPEN_MEMBERS} title={`Each of the ${members.length}`}>
      <Scroll label={`Members of ${title}`} kind="tall">
        <table>
          <thead>
            <tr>
              {['resource', 'name', 'id', 'node', ...columns].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {members.map(({ address, name, vmid, node, fields }) => (
              <tr key={address}>
                <th scope="row">{address}</th>
                <td>{name}</td>
                <td>{vmid}</td>
                <td>{node}</td>
                {columns.map((column) => (
                  <td key={column}>{value(fields.find(({ path }) => path === column)?.after)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Fold>
  );
}

const WHO = { file: 'in the file', others: 'outside Proxwright', both: 'in the file and outside' } as const;

/** A new VM has the values of its template before, and who changed them or when that takes effect does not matter. */
export function Fields({
  label,
  fields,
  isNew = false,
}: {
  label: string;
  fields: readonly FieldView[];
  isNew?: boolean;
}) {
  const hasBefore = !isNew || fields.some(({ before }) => before !== null && before !== undefined);
  const hasWho = !isNew && fields.some(({ by }) => by !== undefined);
  const hasEffect = !isNew && fields.some(({ effect }) => effect !== undefined);
  const titles = [
    'field',
    ...(hasBefore ? [isNew ? 'template' : 'now'] : []),
    isNew ? 'value' : 'after',
    ...(hasWho ? ['changed'] : []),
    ...(hasEffect ? ['takes effect'] : []),
  ];
  return (
    <Scroll label={label}>
      <table class="fields">
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {fields.map(({ path, before, after, by, effect }) => (
            <tr key={path}>
              <th scope="row" class="path">
                <code>{path}</code>
              </th>
              {hasBefore && <td class="before">{value(before)}</td>}
              <td class="after">{value(after)}</td>
              {hasWho && <td class={by === 'file' ? '' : 'by-others'}>{by ? WHO[by] : ''}</td>}
              {hasEffect && (
                <td>{effect === 'restart' ? 'after a restart' : effect === 'live' ? 'immediately' : (effect ?? '')}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
