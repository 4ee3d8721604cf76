/** What is recorded of a template, beside what is recorded of the VM that it is. */
import { z } from 'zod';

/** What makes a VM a template: the recipe it is built from, and how far it has come. */
export const templateRecordSchema = z.strictObject({
  /** Fingerprint of everything it is made from. */
  recipe: z.string(),
  /** It was started to install itself; `done` once it has shut itself down. */
  install: z.enum(['running', 'done']).optional(),
  /** Converted, checked, and under its final name. */
  finished: z.literal(true).optional(),
});

export type TemplateRecord = z.output<typeof templateRecordSchema>;
