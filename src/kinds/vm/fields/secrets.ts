/** Fields of a VM that refer to a value kept elsewhere, which is read when it is needed: secrets and cloud-init files. */
import { once } from '../../../base/values/once.ts';
import { valueAt } from '../../fields/field-table.ts';
import type { ResolvedVm } from '../stack.ts';
import type { DocumentReference } from './cloud-init.ts';
import type { VmFields } from './index.ts';
import { rowsOfField, vmFieldRows, vmRows } from './rows.ts';

export interface SecretField {
  /** `cloud_init.password`. */
  readonly path: string;
  readonly reference: DocumentReference;
  /** A file is used byte for byte; the trailing line feed of a secret is not part of it. */
  readonly isDocument: boolean;
}

/** Fields that are only written to a key of Proxmox and compared with it. The name identifies the VM to people. */
const hideable = once(() =>
  [...vmRows().map(({ path }) => path), 'description'].filter(
    (path) => path !== 'name' && !path.startsWith('cloud_init.'),
  ),
);

/**
 * The field to hide if a sensitive variable decides what is written at `path`; `secret` where the value is treated as a
 * secret anyway, and undefined where it cannot be hidden.
 */
export function hiddenFieldOf(path: readonly (string | number)[]): string | undefined {
  if (path[0] === 'extra') return path.slice(0, 2).join('.');
  const whole = path.join('.');
  if (secretRows().some((row) => whole.startsWith(`${row.path}.`))) return 'secret';
  return hideable().find((field) => whole === field || whole.startsWith(`${field}.`));
}

const secretRows = once(() => vmFieldRows().filter(({ facts }) => facts.secret));

/** Its value in Proxmox cannot be read back. */
export function isSecretPath(path: string): boolean {
  return secretRows().some((row) => row.path === path);
}

export function secretFieldsOf(fields: VmFields): SecretField[] {
  const secret = Object.keys(fields).flatMap((name) => rowsOfField(name).filter(({ facts }) => facts.secret));
  return secret.flatMap(({ path, facts }) => {
    // The schema of every secret field is a reference.
    const reference = valueAt(fields, path) as DocumentReference | undefined;
    // A secret has a key in Proxmox; a file goes to the guest on a separate drive.
    return reference === undefined ? [] : [{ path, reference, isDocument: facts.wire === undefined }];
  });
}

/** The fields without those that a sensitive variable decides: a digest of all fields must not help to guess them. */
export function shownFields({ fields, sensitive = [] }: Pick<ResolvedVm, 'fields' | 'sensitive'>): VmFields {
  const shown = structuredClone(fields) as Record<string, unknown>;
  for (const path of sensitive) {
    const names = path.split('.');
    const owner = names.slice(0, -1).reduce<unknown>((each, name) => (each as Record<string, unknown>)[name], shown);
    delete (owner as Record<string, unknown>)[names.at(-1) ?? '']; // every sensitive path leads to a field
  }
  return shown as VmFields; // only for fingerprints
}
