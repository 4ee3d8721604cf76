/** Fields of a VM that refer to a value kept elsewhere, which is read when it is needed: secrets and cloud-init files. */
import { valueAt } from '../../fields/field-table.ts';
import type { DocumentReference } from './cloud-init.ts';
import type { VmFields } from './index.ts';
import { VM_FIELD_ROWS } from './rows.ts';

export interface SecretField {
  /** `cloud_init.password`. */
  readonly path: string;
  readonly reference: DocumentReference;
  /** A file is kept to the last byte; of a secret, the line feed at the end is not part. */
  readonly isDocument: boolean;
}

const SECRET_ROWS = VM_FIELD_ROWS.filter(({ facts }) => facts.secret);

export function secretFieldsOf(fields: VmFields): SecretField[] {
  return SECRET_ROWS.flatMap(({ path, facts }) => {
    // The schema of every secret field is a reference.
    const reference = valueAt(fields, path) as DocumentReference | undefined;
    // A secret has a key in Proxmox; a file goes to the guest on a drive of its own.
    return reference === undefined ? [] : [{ path, reference, isDocument: facts.wire === undefined }];
  });
}
