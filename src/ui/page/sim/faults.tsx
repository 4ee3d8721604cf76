/** The faults: rules that are on or off, a form that adds one, and the faults that occurred. */
import { useEffect, useState } from 'preact/hooks';
import type { FaultKindView, SimulatedFault, SimulatedView } from '../../server/simulated.ts';
import { ask, useAct } from '../ask.ts';
import { Scroll } from '../parts.tsx';

export function Faults({ view: { faults, strikes } }: { view: SimulatedView }) {
  return (
    <>
      <AddFault />
      <h2 class="part">Rules</h2>
      {faults.length === 0 ? (
        <p class="quiet">No fault is on: this cluster is healthy.</p>
      ) : (
        <Scroll label="Rules">
          <table>
            <thead>
              <tr>
                {['rule', 'what happens', 'struck', 'switch'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {faults.map((fault) => (
                <Rule key={fault.id} fault={fault} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      <h2 class="part">Strikes</h2>
      {strikes.length === 0 ? (
        <p class="quiet">Nothing has struck yet.</p>
      ) : (
        <Scroll label="Strikes" kind="log">
          <table>
            <tbody>
              {strikes.map(({ at, kind, what }, index) => (
                <tr key={index}>
                  <td class="quiet">{at.slice(11, 19)}</td>
                  <td>{kind}</td>
                  <td>{what}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}

function Rule({ fault: { id, rule, words, isOn, strikes, hint } }: { fault: SimulatedFault }) {
  const { act, problem } = useAct();
  return (
    <tr>
      <th scope="row">
        <code>{rule}</code>
      </th>
      <td>
        {problem ?? words.replaceAll('`', '')}
        {hint && (
          <p class="tight by-others" role="status">
            It cannot strike. {hint}
          </p>
        )}
      </td>
      <td>{strikes === 0 ? 'not yet' : `${strikes} ×`}</td>
      <td>
        <button
          type="button"
          role="switch"
          aria-checked={isOn}
          aria-label={`Fault ${rule}`}
          onClick={() => act('/api/fault', { id, isOn: !isOn })}
        >
          {isOn ? 'on' : 'off'}
        </button>
      </td>
    </tr>
  );
}

function AddFault() {
  const [kinds, setKinds] = useState<readonly FaultKindView[]>([]);
  const [rule, setRule] = useState('');
  const { act, problem } = useAct();
  useEffect(() => {
    void ask<readonly FaultKindView[]>('/api/kinds').then(setKinds, () => {}); // the page says so already
  }, []);
  const kind = /^[a-z-]*/.exec(rule)?.[0] ?? '';
  const known = kinds.find((each) => each.kind === kind);
  return (
    <form
      class="card add"
      onSubmit={(event) => {
        event.preventDefault();
        void act('/api/fault', { rule });
      }}
    >
      <label>
        Fault
        <select
          value={known?.kind ?? ''}
          onChange={({ currentTarget }) =>
            setRule(kinds.find((each) => each.kind === currentTarget.value)?.example ?? '')
          }
        >
          <option value="">choose one</option>
          {kinds.map((each) => (
            <option key={each.kind} value={each.kind}>
              {each.kind}
            </option>
          ))}
        </select>
      </label>
      <label class="wide">
        Rule
        <input
          type="text"
          value={rule}
          spellcheck={false}
          aria-describedby="form-of-rules"
          onInput={({ currentTarget }) => setRule(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={rule === ''}>
        Switch on
      </button>
      <p id="form-of-rules" class="quiet">
        {known
          ? `${known.kind}: ${known.words.replaceAll('`', '')}. `
          : 'Choose a fault, change its rule if you like, and switch it on. '}
        A rule is kind[=argument][:[METHOD ]pattern][@when[xTIMES]][~duration], as with --faults: @1 is the next match,
        @/3 every third, @10% by chance.
      </p>
      {problem && (
        <p class="warning" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
