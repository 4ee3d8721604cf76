/** Plan, drift, outputs and doctor: lists of what the commands of the same name print. */
import type { ChangeView, FieldView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Copy, Scroll, Shown, value } from './parts.tsx';

const WHO = { file: 'the file', others: 'others', both: 'the file and others' } as const;

export function Plan({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'plan')}>
      {({ changes, steps, warnings }) => {
        const some = changes.filter(({ kind }) => kind !== 'none');
        return (
          <>
            <p>
              {some.length === 0
                ? `No changes: ${changes.length} of ${changes.length} match the file.`
                : `${some.length} of ${changes.length} differ from the file, ${steps} steps.`}
            </p>
            {warnings.map((words) => (
              <p key={words} class="warning">
                {words}
              </p>
            ))}
            {some.map((change) => (
              <Change key={change.address} change={change} />
            ))}
          </>
        );
      }}
    </Shown>
  );
}

function Change({ change: { address, kind, name, node, vmid, reason, fields, notes } }: { change: ChangeView }) {
  return (
    <section class="card" aria-labelledby={`change-${address}`}>
      <h2 id={`change-${address}`}>
        <span class={`badge ${kind}`}>{kind}</span> {address}{' '}
        <small>
          {name} on {node}
          {vmid !== undefined && `, ${vmid}`}
        </small>
      </h2>
      <p class="quiet">{reason}</p>
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {fields.length > 0 && <Fields label={`Fields of ${address}`} fields={fields} />}
    </section>
  );
}

function Fields({ label, fields }: { label: string; fields: readonly FieldView[] }) {
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {['field', 'now', 'after', 'changed by', 'takes effect'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {fields.map(({ path, before, after, by, effect }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{value(before)}</td>
              <td>{value(after)}</td>
              <td>{by ? WHO[by] : ''}</td>
              <td>{effect === 'restart' ? 'after a restart' : effect === 'live' ? 'immediately' : (effect ?? '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export function Drift({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'drift')}>
      {(drifts) => (
        <>
          {drifts.length === 0 && <p>Nothing was changed outside Proxwright since the last apply.</p>}
          {drifts.map(({ address, name, isGone, fields }) => (
            <section key={address} class="card">
              <h2>
                {address} <small>{name}</small>
              </h2>
              {isGone ? (
                <p>It no longer exists.</p>
              ) : (
                <Fields
                  label={`Drift of ${address}`}
                  fields={fields.map(({ path, applied, actual }) => ({
                    path,
                    before: actual,
                    after: applied,
                    by: 'others',
                  }))}
                />
              )}
            </section>
          ))}
        </>
      )}
    </Shown>
  );
}

export function Outputs({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'outputs')}>
      {(outputs) =>
        outputs.map(({ name, text }) => (
          <section key={name} class="card">
            <h2>
              {name} <Copy text={text} label={name} />
            </h2>
            <Scroll label={name} kind="text">
              <pre>{text}</pre>
            </Scroll>
          </section>
        ))
      }
    </Shown>
  );
}

const SIGNS: Readonly<Record<string, string>> = { good: '✓', warning: '!', bad: '✗', unknown: '?' };

export function Doctor({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'doctor')}>
      {(findings) => (
        <ul class="findings">
          {findings.map(({ check, verdict, words, details, remedy }, at) => (
            <li key={at} class={verdict}>
              <span class="sign" aria-hidden="true">
                {SIGNS[verdict]}
              </span>
              <div>
                <span class="hidden">{verdict}: </span>
                {words} <span class="quiet">{check}</span>
                {details.map((line) => (
                  <p key={line} class="quiet">
                    {line}
                  </p>
                ))}
                {remedy !== undefined && <pre>{remedy}</pre>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Shown>
  );
}
