/** Asks the server of the page, and keeps what a view has learned until it is asked again. */
import { useCallback, useEffect, useState } from 'preact/hooks';
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

function unanswered<Value>(error: unknown): Answer<Value> {
  const detail = error instanceof Error ? error.message : String(error);
  return { ok: false, problems: [{ code: 'UNREACHABLE', summary: 'The page has lost its server', detail }] };
}
