/** Requests data from the page's server, and caches it for a view until the next request. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Done } from '../server/simulated.ts';
import type { Answer, ViewName, ViewValues } from '../server/source.ts';

export async function ask<Value>(path: string): Promise<Value> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Value; // our own server
}

export interface Asked<Value> {
  readonly answer: Answer<Value> | undefined;
  readonly isBusy: boolean;
  again(): void;
}

export function useView<Name extends ViewName>(stack: string, name: Name): Asked<ViewValues[Name]> {
  const [answer, setAnswer] = useState<Answer<ViewValues[Name]>>();
  const [isBusy, setBusy] = useState(true);
  const again = useCallback(() => {
    setBusy(true);
    void ask<Answer<ViewValues[Name]>>(`/api/${encodeURIComponent(stack)}/${name}`)
      .catch((error: unknown) => unanswered<ViewValues[Name]>(error))
      .then((next) => {
        setAnswer(next);
        setBusy(false);
      });
  }, [stack, name]);
  useEffect(again, [again]);
  return { answer, isBusy, again };
}

/** Subscribes to changes. The browser reopens a lost connection. `merge`: for a server that sends only what is new. */
export function useLive<Value, Sent = Value>(
  path: string,
  merge?: (before: Value | undefined, sent: Sent) => Value,
): { readonly value: Value | undefined; readonly isLost: boolean } {
  const [value, setValue] = useState<Value>();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const events = new EventSource(path);
    events.onopen = () => setLost(false);
    events.onmessage = ({ data }) => {
      const sent = JSON.parse(String(data)) as Sent & Value; // our own server
      setValue((before) => (merge ? merge(before, sent) : sent));
    };
    events.onerror = () => setLost(true);
    return () => events.close();
  }, [path, merge]);
  return { value, isLost };
}

/** Sends an action to the simulator; the live view shows the result. */
export function useAct() {
  const [problem, setProblem] = useState<string>();
  const act = async (path: string, sent: unknown): Promise<void> => {
    try {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(sent) });
      if (!response.ok) throw new Error(await response.text());
      const done = (await response.json()) as Done; // our own server
      setProblem(done.ok ? undefined : [done.detail, done.hint].filter(Boolean).join(' '));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return { act, problem };
}

function unanswered<Value>(error: unknown): Answer<Value> {
  const detail = error instanceof Error ? error.message : String(error);
  return { ok: false, problems: [{ code: 'UNREACHABLE', summary: 'The page has lost its server', detail }] };
}
