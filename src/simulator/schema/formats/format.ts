/** What a registered format is: a verifier of one text, or the sub-keys of a property string. */
import type { PropertyValues } from '../property-grammar.ts';
import type { PropertyFormat, ValidationContext } from '../types.ts';

/** Nothing, or the server's message with its final line feed. */
export type Verifier = (text: string) => string | undefined;

/** One whose result depends on the server. */
export type ContextVerifier = (text: string, context: ValidationContext) => string | undefined;

export type RegisteredFormat =
  | { readonly kind: 'text'; readonly verify: ContextVerifier }
  | {
      readonly kind: 'property';
      readonly properties: PropertyFormat;
      /** A final check of sub-values that are valid one by one. */
      readonly validate?: (values: PropertyValues, context: ValidationContext) => string | undefined;
    };

/** A verifier for texts that match the whole expression; a final line feed is tolerated, as in Perl. */
export function matching(expression: RegExp, complaint: string | ((text: string) => string)): Verifier {
  return (text) => {
    const subject = text.endsWith('\n') ? text.slice(0, -1) : text;
    const match = expression.exec(subject);
    if (match !== null && match[0] === subject) return undefined;
    return `${typeof complaint === 'string' ? complaint : complaint(text)}\n`;
  };
}
