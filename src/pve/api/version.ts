/** `/version`: needs a login but no privilege. */
import { z } from 'zod';

export const versionSchema = z
  .looseObject({ version: z.string(), release: z.string() })
  .transform((answer) => ({ ...answer, major: Number.parseInt(answer.version, 10) }));

/** `major` decides between the privileges and endpoints of 8 and 9. */
export type PveVersion = z.output<typeof versionSchema>;
