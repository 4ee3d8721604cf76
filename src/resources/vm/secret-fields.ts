/** Fields of a VM whose values stand elsewhere and are read when they are needed: secrets, and documents of one's own. */
import { OWN_DOCUMENTS } from '../seed/fields.ts';
import type { DocumentReference } from './cloud-init-fields.ts';
import type { VmFields } from './fields.ts';

export interface SecretField {
  /** `cloud_init.password`. */
  readonly path: string;
  readonly reference: DocumentReference;
  /** A document is kept to the last byte; of a secret, the end of its line is none of it. */
  readonly isDocument: boolean;
}

export function secretFieldsOf({ cloud_init: cloudInit }: VmFields): SecretField[] {
  const password = cloudInit?.password;
  return [
    ...(password ? [{ path: 'cloud_init.password', reference: password, isDocument: false }] : []),
    ...OWN_DOCUMENTS.flatMap((document): SecretField[] => {
      const reference = cloudInit?.[document];
      return reference ? [{ path: `cloud_init.${document}`, reference, isDocument: true }] : [];
    }),
  ];
}
