/** Asks the server of the page, and keeps what a view has learned until it is asked again. */
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
  const [isBusy, setBusy] = useState(false);
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

/** What the server sends whenever it has changed. A lost connection is opened again by the browser. */
export function useLive<Value>(path: string): { readonly value: Value | undefined; readonly isLost: boolean } {
  const [value, setValue] = useState<Value>();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const events = new EventSource(path);
    events.onopen = () => setLost(false);
    events.onmessage = ({ data }) => setValue(JSON.parse(String(data)) as Value); // our own server
    events.onerror = () => setLost(true);
    return () => events.close();
  }, [path]);
  return { value, isLost };
}

/** Asks the simulator to do something; the live view shows that it was done. */
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
