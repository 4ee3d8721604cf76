/** Drift, outputs and doctor: lists of what the commands of the same name print. */
import { groupedBy } from '../../base/values/groups.ts';
import type { FindingView, OutputView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Copy, Fold, Scroll, Shown, Tally } from './parts.tsx';
import { Fields } from './plan.tsx';

export function Drift({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'drift')}>
      {(drifts) => (
        <>
          <p class="lead">
            {drifts.length === 0
              ? 'Nothing was changed outside Proxwright since the last apply.'
              : `${drifts.length === 1 ? '1 resource was' : `${drifts.length} resources were`} changed outside Proxwright since the last apply. The next apply sets what is “now” to what is “after”.`}
          </p>
          {drifts.map(({ address, name, isGone, fields }) => (
            <Fold
              key={address}
              kind="card"
              isOpen={drifts.length <= MOST_OPEN}
              title={
                <>
                  <span class={`badge ${isGone ? 'delete' : 'update'}`}>{isGone ? 'gone' : 'changed'}</span>{' '}
                  <strong>{address}</strong> <span class="quiet">{name}</span>
                </>
              }
            >
              {isGone ? (
                <p>It no longer exists.</p>
              ) : (
                <Fields
                  label={`Drift of ${address}`}
                  fields={fields.map(({ path, applied, actual }) => ({
                    path,
                    before: actual,
                    after: applied,
                  }))}
                />
              )}
            </Fold>
          ))}
        </>
      )}
    </Shown>
  );
}

/** With more drifted resources than this each is closed until you open it. */
const MOST_OPEN = 20;

export function Outputs({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'outputs')}>
      {(outputs) => {
        const short = outputs.filter(isShort);
        return (
          <>
            {short.length > 0 && (
              <Scroll label="Short outputs" kind="spaced">
                <table class="outputs">
                  <tbody>
                    {short.map(({ name, text }) => (
                      <tr key={name}>
                        <th scope="row">{name}</th>
                        <td>
                          <code>{text}</code>
                        </td>
                        <td class="end">
                          <Copy text={text} label={name} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )}
            {outputs
              .filter((output) => !isShort(output))
              .map(({ name, text }) => (
                <section key={name} class="card">
                  <h2 class="with-tool">
                    {name} <Copy text={text} label={name} />
                  </h2>
                  <Scroll label={name} kind="text">
                    <pre>{text}</pre>
                  </Scroll>
                </section>
              ))}
          </>
        );
      }}
    </Shown>
  );
}

const isShort = ({ text }: OutputView) => text.length <= 120 && !text.includes('\n');

const SIGNS: Readonly<Record<string, string>> = { good: '✓', warning: '!', bad: '✗', unknown: '?' };
/** What needs attention comes first. */
const ORDER = ['bad', 'warning', 'unknown', 'good'];
const TALLIES = [
  ['bad', 'bad', 'problems'],
  ['warning', 'warn', 'warnings'],
  ['unknown', 'warn', 'unknown'],
  ['good', 'good', 'fine'],
] as const;

export function Doctor({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'doctor')}>
      {(findings) => (
        <>
          <Tally
            label="Findings by verdict"
            counts={TALLIES.map(([verdict, tone, words]) => ({
              words,
              tone,
              count: findings.filter((finding) => finding.verdict === verdict).length,
            }))}
          />
          <ul class="findings card">
            {[...groupedBy(findings, (finding) => JSON.stringify(finding)).values()]
              .toSorted(([a], [b]) => ORDER.indexOf(a?.verdict ?? '') - ORDER.indexOf(b?.verdict ?? ''))
              .flatMap(([finding, ...same]) =>
                finding ? [<Finding key={finding.words} finding={finding} times={same.length + 1} />] : [],
              )}
          </ul>
        </>
      )}
    </Shown>
  );
}

/** Shared storage is checked for each node; equal findings are shown once. */
function Finding({ finding, times }: { finding: FindingView; times: number }) {
  const { check, verdict, words, details, remedy } = finding;
  return (
    <li class={verdict}>
      <span class="sign" aria-hidden="true">
        {SIGNS[verdict]}
      </span>
      <div>
        <span class="hidden">{verdict}: </span>
        {words} {times > 1 && <span class="quiet">({times} times)</span>}
        {details.map((line) => (
          <p key={line} class="quiet">
            {line}
          </p>
        ))}
        {remedy !== undefined && <pre>{remedy}</pre>}
      </div>
      <span class="quiet check">{check}</span>
    </li>
  );
}
