/** /cluster/options: datacenter.cfg. Kept as property strings, shown parsed. */
import { splitList, splitProperty } from '../../../pve/wire/index.ts';
import { allowedTags } from '../../access/tag-checks.ts';
import { type Call, type Routes, text } from '../../core/call.ts';

export const optionsRoutes: Routes = {
  'GET /cluster/options': readOptions,
  'PUT /cluster/options': updateOptions,
};

/** Rule [source CL DataCenterConfig.pm parse_datacenter_config]: these are parsed into objects, tag lists into arrays. */
const PROPERTY_STRINGS = new Set('migration ha crs next-id notify tag-style user-tag-access u2f webauthn'.split(' '));
const NUMBER = /^\d+$/;
/** Rule [recorded perm-readonly-checks]: without Sys.Audit on / only these remain. */
const PUBLIC_KEYS = ['console', 'tag-style'];

function readOptions(call: Call): Record<string, unknown> {
  const { datacenter } = call.runtime.world;
  const seesAll = call.may('/', ['Sys.Audit']);
  const shown = [...datacenter].filter(([key]) => seesAll || PUBLIC_KEYS.includes(key));
  return {
    // Rule [recorded tags-datacenter-style]: these two are there even in an empty file.
    ...(seesAll ? { description: '', mac_prefix: 'BC:24:11' } : {}),
    ...Object.fromEntries(shown.map(([key, value]) => [key, shownValue(key, value)])),
    'allowed-tags': allowedTags(call),
  };
}

function shownValue(key: string, value: string): unknown {
  if (key === 'registered-tags') return splitList(value);
  if (key === 'description') return value;
  if (!PROPERTY_STRINGS.has(key)) return NUMBER.test(value) ? Number(value) : value;
  return Object.fromEntries(
    // `migration: secure` is the only one of them with a default key.
    splitProperty(value).map(({ key: name = 'type', value: content }) => {
      if (name === 'user-allow-list') return [name, splitList(content)];
      return [name, NUMBER.test(content) ? Number(content) : content];
    }),
  );
}

function updateOptions(call: Call): null {
  const { datacenter } = call.runtime.world;
  for (const key of Object.keys(call.params)) {
    const value = text(call.params, key);
    if (key !== 'delete' && value !== undefined) datacenter.set(key, value);
  }
  for (const key of splitList(text(call.params, 'delete') ?? '')) datacenter.delete(key);
  return null;
}
