/** The frame around a view: what the page is about, the links to its views, and the heading. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** `#/lab/runs/ID`: a link to it can be kept. */
export function usePlace(): readonly string[] {
  const [place, setPlace] = useState(placeOf(location.hash));
  useEffect(() => {
    const moved = () => setPlace(placeOf(location.hash));
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  return place;
}

function placeOf(hash: string): readonly string[] {
  return hash
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part; // typed by hand
      }
    });
}

export function Frame({
  about,
  views,
  note,
  title,
  children,
}: {
  about: ComponentChildren;
  views: readonly { readonly words: string; readonly to: string; readonly isCurrent: boolean }[];
  note: string;
  title: string;
  children: ComponentChildren;
}) {
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <header>
        <span class="brand">
          <img src="/icon.svg" alt="" width="20" height="20" />
          Proxwright
        </span>
        {about}
        <nav aria-label="Views">
          {views.map(({ words, to, isCurrent }) => (
            <a key={to} href={to} aria-current={isCurrent ? 'page' : undefined}>
              {words}
            </a>
          ))}
        </nav>
        <span class="note">{note}</span>
      </header>
      <main id="content" tabIndex={-1}>
        <h1>{title}</h1>
        {children}
      </main>
    </>
  );
}

/** The fragment of the address names the view, so a link to a part of the page is not possible. */
function skip(): void {
  document.getElementById('content')?.focus();
}
