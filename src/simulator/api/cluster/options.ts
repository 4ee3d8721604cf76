/** /cluster/options: datacenter.cfg. Kept as property strings, shown parsed. */
import { splitList, splitProperty } from '../../../pve/wire/index.ts';
import { allowedTags } from '../../access/vm-checks.ts';
import type { CallTo, Routes } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import { sentTexts } from '../../schema/validate.ts';

export const optionsRoutes: Routes = {
  'GET /cluster/options': readOptions,
  'PUT /cluster/options': updateOptions,
};

/** Rule [source CL DataCenterConfig.pm parse_datacenter_config]: these are parsed into objects, tag lists into arrays. */
const PROPERTY_STRINGS = new Set('migration ha crs next-id notify tag-style user-tag-access u2f webauthn'.split(' '));
/** Rule [recorded cluster-options]: only the booleans of a property string are numbers; everything else stays text. */
const BOOLEANS = new Set(['case-sensitive', 'ha-rebalance-on-start', 'ha-auto-rebalance']);
/** Rule [recorded perm-readonly-checks]: without Sys.Audit on / only these remain. */
const PUBLIC_KEYS = ['console', 'tag-style'];

function readOptions(call: CallTo<'GET /cluster/options'>): Record<string, unknown> {
  const { datacenter } = call.runtime.world;
  const seesAll = call.may('/', ['Sys.Audit']);
  const shown = [...datacenter].filter(([key]) => seesAll || PUBLIC_KEYS.includes(key));
  return {
    // Rule [recorded tags-datacenter-style]: these two exist even in an empty file.
    ...(seesAll ? { description: '', mac_prefix: 'BC:24:11' } : {}),
    ...Object.fromEntries(shown.map(([key, value]) => [key, shownValue(key, value)])),
    'allowed-tags': allowedTags(call),
  };
}

function shownValue(key: string, value: string): unknown {
  if (key === 'registered-tags') return splitList(value);
  // Rule [source CL DataCenterConfig.pm parse_datacenter_config]: kept as comment lines, each of which ends in a line feed.
  if (key === 'description') return value === '' ? '' : `${value.replace(/\n+$/, '')}\n`;
  if (!PROPERTY_STRINGS.has(key)) return value;
  return Object.fromEntries(
    // `migration: secure` is the only one of them with a default key.
    splitProperty(value).map(({ key: name = 'type', value: content }) => {
      if (name === 'user-allow-list') return [name, splitList(content)];
      return [name, BOOLEANS.has(name) ? Number(content) : content];
    }),
  );
}

function updateOptions(call: CallTo<'PUT /cluster/options'>): null {
  const { datacenter } = call.runtime.world;
  const deletes = splitList(call.params.delete ?? '');
  if (!deletes.includes('next-id')) assertIdRange(call.params['next-id'] ?? datacenter.get('next-id'));
  sortTagLists(datacenter);
  for (const [key, value] of sentTexts(call.texts)) if (key !== 'delete') datacenter.set(key, value);
  for (const key of deletes) datacenter.delete(key);
  return null;
}

const DEFAULT_LOWER = 100;
const DEFAULT_UPPER = 1_000_000;

/** Rule [source CL DataCenterConfig.pm write_datacenter_config]. */
function assertIdRange(nextId: string | undefined): void {
  const bounds = new Map(splitProperty(nextId ?? '').map(({ key, value }) => [key, Number(value)]));
  const [lower, upper] = [bounds.get('lower') ?? DEFAULT_LOWER, bounds.get('upper') ?? DEFAULT_UPPER];
  if (lower > upper) throw dieFault(`lower (${lower}) <= upper (${upper}) boundary rule broken`);
}

/** Rule [source CL DataCenterConfig.pm write_datacenter_config]: tag lists are sorted when they are written again. */
function sortTagLists(datacenter: Map<string, string>): void {
  const sorted = (tags: string) => tags.split(';').sort().join(';');
  const registered = datacenter.get('registered-tags');
  if (registered !== undefined) datacenter.set('registered-tags', sorted(registered));
  const access = datacenter.get('user-tag-access');
  if (access === undefined) return;
  datacenter.set(
    'user-tag-access',
    access.replace(/(user-allow-list=)([^,]*)/, (_, name: string, tags: string) => `${name}${sorted(tags)}`),
  );
}
