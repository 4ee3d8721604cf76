/**
 * Changes that another client might make to a VM: for each managed field, one configuration that differs only in that
 * field. For tests that no drift is missed.
 */
import { canonicalProperty, compareConfigValue, describeConfigKey, formatOfKey } from '../../../pve/wire/index.ts';
import type { DesiredConfig, DesiredEntry, DesiredField } from '../config/desired.ts';
import { findCloudInitDrive } from '../config/disks.ts';
import { printPropertyOf, propertyOf } from '../config/parts.ts';
import { appendOwnership, stripOwnership } from '../ownership.ts';

export interface ForeignChange {
  readonly path: string;
  readonly values: ReadonlyMap<string, string>;
}

type Values = ReadonlyMap<string, string>;

/** `values` satisfy `desired`. Fields whose change would mean nothing, or would change another field too, are left out. */
export function foreignChanges(desired: DesiredConfig, values: Values): ForeignChange[] {
  return [...desired.values()].flatMap((entry) =>
    entry.fields.flatMap((field) => {
      const changed = changedValues(entry, field, values);
      return changed ? [{ path: field.path, values: changed }] : [];
    }),
  );
}

function changedValues(entry: DesiredEntry, field: DesiredField, values: Values): Values | undefined {
  const { key, desired } = entry;
  const text = values.get(key);
  switch (desired.kind) {
    case 'absent':
      return withText(values, key, reappeared(key, field));
    case 'value':
      return withText(values, key, otherValue(key, text ?? '', desired.text));
    case 'secret':
      return new Map([...values].filter(([name]) => name !== key));
    case 'notes': {
      const other = 'proxwright: stack=others address=vm.x vmid=999';
      const isText = field.words === 'notes';
      return withText(
        values,
        key,
        isText
          ? appendOwnership('Others were here.', desired.line)
          : appendOwnership(stripOwnership(text ?? ''), other),
      );
    }
    case 'cloud-init-drive': {
      const drive = findCloudInitDrive(values)?.key;
      // Both fields of the drive would be missed at once.
      return entry.fields.length > 1 ? undefined : new Map([...values].filter(([name]) => name !== drive));
    }
    case 'property':
    case 'disk':
    case 'cdrom':
      return text === undefined ? undefined : withText(values, key, otherPart(key, field, text));
  }
}

function withText(values: Values, key: string, text: string | undefined): Values | undefined {
  return text === undefined ? undefined : new Map([...values, [key, text]]);
}

function reappeared(key: string, field: DesiredField): string | undefined {
  if (field.words === 'removal')
    return key.startsWith('net') ? 'virtio=BC:24:11:00:00:77' : 'tank:vm-101-disk-77,size=1G';
  return { tags: 'others', nameserver: '8.8.8.8', sshkeys: 'ssh-ed25519%20AAAA' }[key];
}

function otherValue(key: string, text: string, desired: string): string | undefined {
  const candidates = ['0', '1', '3', '77', 'others', 'order=net9', 'network', 'socket', '/dev/null', `${text}x`];
  return candidates.find((each) => each !== desired && compareConfigValue(key, desired, each) === 'different');
}

/** With one sub-key changed; for a disk perhaps its volume. */
function otherPart(key: string, field: DesiredField, text: string): string | undefined {
  const [part = ''] = field.parts;
  const [value, format] = [propertyOf(key, text), formatOfKey(key)];
  const file = value.get('file') ?? '';
  switch (part) {
    case 'file':
      return printPropertyOf(key, value.with('file', 'local:iso/others.iso'));
    case 'storage':
      return printPropertyOf(key, value.with('file', `others:${file.slice(file.indexOf(':') + 1)}`));
    case 'format':
      return /\.raw$/.test(file) || /\.qcow2$/.test(file)
        ? printPropertyOf(key, value.with('file', file.replace(/\.\w+$/, '.vmdk')))
        : undefined;
    case 'size':
      return printPropertyOf(key, value.with('size', '1M'));
    case 'import-from':
      return undefined;
    // More than desired is no difference.
    case 'ms-cert':
      return field.value === '2011' ? undefined : printPropertyOf(key, value.with(part, '2011'));
    default: {
      const sub = format?.keys.get(part);
      const candidates = [...(sub?.enum ?? []), '0', '1', '77', 'others', undefined];
      const other = candidates.find(
        (each) =>
          format !== undefined &&
          !(describeConfigKey(key)?.device && part === 'model' && each === undefined) &&
          canonicalProperty(format, value.with(part, each)) !== canonicalProperty(format, value),
      );
      const isRequired = sub?.required === true && other === undefined;
      return isRequired ? undefined : printPropertyOf(key, value.with(part, other));
    }
  }
}
