/** Escapes text for HTML or SVG. Texts from a server may be hostile: every one of them passes through here. Pure. */
import { visibleText } from '../../base/text/safe-text.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters become visible as well: XML does not allow them in any form. */
export function escaped(text: string): string {
  return visibleText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Cut to what fits. */
export function fitting(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return characters < 3 ? '' : `${text.slice(0, characters - 1)}…`;
}
